"""What the native API answers, as the client gets it: JSON objects with snake_case keys.

Times are RFC 3339 in UTC with milliseconds. A field without a value is null, so every object of a
kind has the same fields. Clients ignore fields that they do not know.
"""

from typing import Any, Literal

from msgspec import Struct

JsonValue = dict[str, Any]
LiveWord = Literal["idle", "starting", "busy", "waiting", "retry", "queued"]


class Shape(Struct, frozen=True, kw_only=True):
    """Anything that the API answers."""


class Live(Shape, frozen=True, kw_only=True):
    """What a session is doing right now.

    Attributes:
        word: `queued` waits for a place under the bound on concurrent turns.
        ask_ids: for `waiting`, the open asks.
        attempt: for `retry`, the number of the next attempt.
        message: for `retry`, why the last one failed.
        next_at: for `retry`, when the next one begins.
    """

    word: LiveWord
    ask_ids: tuple[str, ...] = ()
    attempt: int | None = None
    message: str | None = None
    next_at: str | None = None


class SessionSettings(Shape, frozen=True, kw_only=True):
    """What a session sets over its profile; null means that the profile's value holds."""

    mode: str | None = None
    model: str | None = None
    options: JsonValue | None = None
    permissions: tuple[JsonValue, ...] | None = None
    headless: bool | None = None


class Session(Shape, frozen=True, kw_only=True):
    """One agent conversation inside a run.

    Attributes:
        agent_id: the id of its profile.
        status: `idle running completed failed cancelled`; the last three are final.
        is_primary: whether it answers for its run.
        queue_paused: whether pending prompts wait until somebody resumes the queue or prompts.
        data: of its runtime, `continuity` among it.
        metadata: what it was created with and no field has, such as `follow_up_of`.
        usage: sums of what its turns reported.
        damage: why its stream cannot be read further, if it is damaged.
        problem: why it could not go on when it was tried last.
    """

    id: str
    run_id: str
    agent_id: str | None
    status: str
    live: Live
    title: str | None
    directory: str | None
    created_at: str
    updated_at: str | None
    item_count: int
    generation: int
    is_primary: bool
    archived: bool
    queue_paused: bool
    settings: SessionSettings
    usage: JsonValue
    data: JsonValue
    metadata: JsonValue
    damage: str | None = None
    problem: JsonValue | None = None


class SessionPage(Shape, frozen=True, kw_only=True):
    """Sessions, the one that changed last first."""

    sessions: tuple[Session, ...]
    next_cursor: str | None


class ItemPage(Shape, frozen=True, kw_only=True):
    """Neighbouring items of a transcript, in its order.

    Attributes:
        before: what to pass to get the items before these; null at the beginning.
        as_of: the cursor from which a stream goes on where these items stand.
    """

    items: tuple[JsonValue, ...]
    before: str | None
    as_of: str


class Configured(Shape, frozen=True, kw_only=True):
    """A session after a change of its settings.

    Attributes:
        report: by setting, what the connected agent made of it: `applied`, `unsupported`,
            `failed` or `unreachable`; empty if none is connected.
    """

    session: Session
    report: dict[str, str]


class Receipt(Shape, frozen=True, kw_only=True):
    """A prompt was admitted: it is on disk. A repeat with the same id gets the same receipt.

    Attributes:
        admitted_version: of the event in its run's stream.
        queue_index: how many pending prompts stood before it.
    """

    id: str
    session_id: str
    admitted_version: int
    delivery: Literal["queue", "steer"]
    queue_index: int


class Prompt(Shape, frozen=True, kw_only=True):
    """A prompt that waits.

    Attributes:
        held: waits for a waking prompt, a repeat of its id, "send now" or "resume".
        origin: who asks: `person step-entry question-answer recovery`.
    """

    id: str
    session_id: str
    status: Literal["pending", "promoted", "delivered", "cancelled"]
    delivery: Literal["queue", "steer"]
    parts: tuple[JsonValue, ...]
    held: bool
    origin: str


class PromptList(Shape, frozen=True, kw_only=True):
    """The pending prompts of a session, in the order of the queue."""

    prompts: tuple[Prompt, ...]


class Interrupted(Shape, frozen=True, kw_only=True):
    """What an interrupt met.

    Attributes:
        interrupted: false if the session was doing nothing, so that nothing changed.
    """

    interrupted: bool


class Progress(Shape, frozen=True, kw_only=True):
    """How far a session is.

    Attributes:
        done: whether it was idle before the time was over.
        items: the newest items of its transcript.
        running_tools: those of them that are tool calls without an end.
        pending: how many prompts wait.
    """

    done: bool
    live: Live
    items: tuple[JsonValue, ...]
    running_tools: tuple[JsonValue, ...]
    pending: int


class Ask(Shape, frozen=True, kw_only=True):
    """A permission request or a question.

    Attributes:
        tool_call: of a permission, the call as the agent described it.
        options: of a permission, what can be answered: `{option_id, name, kind}` each.
        digest: of the call's exact arguments; an answer may carry it.
        pattern: what "always" would cover, if the agent offers one.
        questions: of a question, `{text, header, choices…}` each.
        answer: the first one; it holds.
    """

    id: str
    kind: Literal["permission", "question"]
    session_id: str
    status: Literal["open", "answered", "expired"]
    asked_at: str
    turn_id: str | None = None
    item_id: str | None = None
    tool_kind: str | None = None
    subject: str | None = None
    tool_call: JsonValue | None = None
    options: tuple[JsonValue, ...] = ()
    digest: str | None = None
    pattern: str | None = None
    questions: tuple[JsonValue, ...] = ()
    answer: JsonValue | None = None
    expired_because: str | None = None


class AskList(Shape, frozen=True, kw_only=True):
    """Open asks, in the order of their sessions' runs."""

    asks: tuple[Ask, ...]


class Grant(Shape, frozen=True, kw_only=True):
    """A standing permission.

    Attributes:
        match: `{pattern}` or `{digest}` of the calls that it covers.
    """

    id: str
    profile_id: str
    directory: str
    tool_kind: str
    match: JsonValue
    created_at: str


class GrantList(Shape, frozen=True, kw_only=True):
    """All standing permissions."""

    grants: tuple[Grant, ...]


class Profile(Shape, frozen=True, kw_only=True):
    """A named configuration of an agent.

    Attributes:
        revision: of its newest definition; the answer's `ETag`.
        command: the absolute command and its arguments; empty for remote agents.
        permissions: rules `{tool_kind, pattern, decision}`; the last one that matches holds.
        environment: names of variables that the agent's process may see.
    """

    id: str
    revision: int
    status: Literal["enabled", "disabled", "deleted"]
    name: str
    agent_name: str
    runtime: str
    command: tuple[str, ...]
    model: str
    mode: str
    options: JsonValue | None
    permissions: tuple[JsonValue, ...]
    environment: tuple[str, ...]
    cancel_grace_ms: int | None
    on_restart: Literal["ask", "continue"]
    headless: bool


class ProfileList(Shape, frozen=True, kw_only=True):
    """All profiles, by name."""

    profiles: tuple[Profile, ...]


class Probe(Shape, frozen=True, kw_only=True):
    """Whether an agent could serve a session now.

    Attributes:
        problem: why not, as `{code, message, remedy}`; null if it could.
        details: versions, models and modes that were found.
    """

    usable: bool
    problem: JsonValue | None
    details: JsonValue


class Blob(Shape, frozen=True, kw_only=True):
    """Stored content, named by its digest."""

    id: str
    bytes: int


class Event(Shape, frozen=True, kw_only=True):
    """A durable fact.

    Attributes:
        version: its place in its stream.
        cursor: its place in the log; a stream that begins there goes on right behind it.
        created_at: when it happened.
        recorded_at: when it was stored.
    """

    stream: str
    version: int
    cursor: str
    kind: str
    session_id: str | None
    item_id: str | None
    body: JsonValue
    created_at: str
    recorded_at: str


class EventPage(Shape, frozen=True, kw_only=True):
    """Events in the order of the log.

    Attributes:
        next_cursor: where the next page begins, also if there is nothing there yet.
        more: whether there is something there already.
    """

    events: tuple[Event, ...]
    next_cursor: str
    more: bool
