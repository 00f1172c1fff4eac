"""What the native API takes: bodies and queries. A field that is not listed is refused by name."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

JsonValue = dict[str, Any]
Identifier = Annotated[str, Meta(min_length=1, max_length=200)]
Title = Annotated[str, Meta(max_length=1000)]
Path = Annotated[str, Meta(min_length=1, max_length=4096)]
Limit = Annotated[int, Meta(ge=1, le=500)]
Cursor = Annotated[str, Meta(max_length=2000)]


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Anything that the API takes."""


class NewSession(Request, frozen=True, kw_only=True):
    """A new chat; with an id of the client's own it can be repeated safely.

    Attributes:
        profile: the id of the profile that it talks to.
        directory: where it works, as an absolute path of an existing folder.
        title: without one it comes from the first prompt.
        permissions: rules `{tool_kind, pattern, decision}`, asked before the profile's.
        headless: whether an ask that no rule settles is refused at once.
    """

    profile: Identifier
    directory: Path
    id: Identifier | None = None
    title: Title | None = None
    mode: str | None = None
    model: str | None = None
    options: JsonValue | None = None
    permissions: tuple[JsonValue, ...] | None = None
    headless: bool | None = None


class SessionChanges(Request, frozen=True, kw_only=True):
    """Changes of a session; what is left out stays as it is."""

    title: Title | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    mode: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    options: JsonValue | UnsetType = UNSET
    permissions: tuple[JsonValue, ...] | UnsetType = UNSET
    headless: bool | UnsetType = UNSET


class SessionFilter(Request, frozen=True, kw_only=True):
    """Which sessions are listed.

    Attributes:
        cursor: the `next_cursor` of the page before.
    """

    status: Literal["idle", "running", "completed", "failed", "cancelled"] | None = None
    directory: Path | None = None
    profile: Identifier | None = None
    archived: bool = False
    limit: Limit = 50
    cursor: Cursor | None = None


class Deletion(Request, frozen=True, kw_only=True):
    """How a session is deleted.

    Attributes:
        force: end what is going on instead of refusing.
        now: remove everything for good at once, not after the retention.
    """

    force: bool = False
    now: bool = False


class ItemRange(Request, frozen=True, kw_only=True):
    """Which items are wanted.

    Attributes:
        before: the newest ones before this item; without it the newest of all.
    """

    before: Identifier | None = None
    limit: Limit = 100


class EventRange(Request, frozen=True, kw_only=True):
    """Which events are wanted.

    Attributes:
        after: a cursor; without it a stream begins now, and a page at the beginning.
        limit: of a page.
        kinds: kinds of events, separated by commas; without it all.
    """

    after: Cursor | None = None
    limit: Limit = 100
    kinds: Annotated[str, Meta(max_length=4000)] | None = None


class LogRange(EventRange, frozen=True, kw_only=True):
    """Which events of the whole log are wanted.

    Attributes:
        stream: only events of this stream.
    """

    stream: Identifier | None = None


class ExportForm(Request, frozen=True, kw_only=True):
    """How a chat is exported.

    Attributes:
        redacted: whether what looks like a secret is replaced.
    """

    format: Literal["json", "md"] = "json"
    redacted: bool = True


class NewPrompt(Request, frozen=True, kw_only=True):
    """A prompt; with an id of the client's own it can be repeated safely.

    Attributes:
        text: short for one part of text.
        parts: `{type: text, text}`, `{type: file, name, mime, blob | path}` or
            `{type: mention, name}`.
        delivery: `steer` goes into the running turn where the agent can take it.
        wake: false admits it held.
        on_busy: `replace` interrupts the running turn, and this goes next.
    """

    id: Identifier | None = None
    text: str | None = None
    parts: tuple[JsonValue, ...] | None = None
    delivery: Literal["queue", "steer"] = "queue"
    wake: bool = True
    on_busy: Literal["queue", "replace"] = "queue"


class PromptChanges(Request, frozen=True, kw_only=True):
    """Changes of a pending prompt; what is left out stays as it is.

    Attributes:
        index: its new place in the queue, from 0.
    """

    text: str | UnsetType = UNSET
    parts: tuple[JsonValue, ...] | UnsetType = UNSET
    delivery: Literal["queue", "steer"] | UnsetType = UNSET
    index: Annotated[int, Meta(ge=0, le=1_000_000)] | UnsetType = UNSET


class WaitTime(Request, frozen=True, kw_only=True):
    """How long to wait.

    Attributes:
        timeout: in seconds.
    """

    timeout: Annotated[float, Meta(ge=0, le=3600)] = 30.0


class NewFork(Request, frozen=True, kw_only=True):
    """A fork of a chat.

    Attributes:
        id: the client's own id for the new session.
        item: the last item to copy; without it all are.
    """

    id: Identifier | None = None
    item: Identifier | None = None


class PermissionReply(Request, frozen=True, kw_only=True):
    """The answer to a permission request.

    Attributes:
        option_id: one of the options that the ask offers.
        digest: of the call as it was shown; if it has changed since, the answer is refused.
        message: what the person says with it.
    """

    option_id: str
    digest: str | None = None
    message: str | None = None


class QuestionReply(Request, frozen=True, kw_only=True):
    """The answer to a question: chosen labels or free texts, one list for each of its questions."""

    answers: tuple[tuple[str, ...], ...]


class AskFilter(Request, frozen=True, kw_only=True):
    """Which open asks are listed."""

    session: Identifier | None = None


class ProfileDefinition(Request, frozen=True, kw_only=True):
    """A whole profile, as it is to be.

    Attributes:
        command: an absolute path and its arguments; empty for remote agents.
        permissions: rules `{tool_kind, pattern, decision}`; the last one that matches holds.
        environment: names of variables that the agent's process may see.
    """

    name: str
    agent_name: str
    runtime: str
    command: tuple[str, ...] = ()
    model: str = ""
    mode: str = ""
    options: JsonValue | None = None
    permissions: tuple[JsonValue, ...] = ()
    environment: tuple[str, ...] = ()
    cancel_grace_ms: int | None = None
    on_restart: Literal["ask", "continue"] = "ask"
    headless: bool = False


class NewProfile(ProfileDefinition, frozen=True, kw_only=True):
    """A new profile; with an id of the client's own it can be repeated safely."""

    id: Identifier | None = None


class ProfileChanges(Request, frozen=True, kw_only=True):
    """Changes of a profile; what is left out stays as it is."""

    name: str | UnsetType = UNSET
    agent_name: str | UnsetType = UNSET
    runtime: str | UnsetType = UNSET
    command: tuple[str, ...] | UnsetType = UNSET
    model: str | UnsetType = UNSET
    mode: str | UnsetType = UNSET
    options: JsonValue | UnsetType | None = UNSET
    permissions: tuple[JsonValue, ...] | UnsetType = UNSET
    environment: tuple[str, ...] | UnsetType = UNSET
    cancel_grace_ms: int | UnsetType | None = UNSET
    on_restart: Literal["ask", "continue"] | UnsetType = UNSET
    headless: bool | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET


class SearchQuery(Request, frozen=True, kw_only=True):
    """What to look for.

    Attributes:
        q: words that must all be there; `*` at a word's end matches beginnings.
        since: RFC 3339; only what is not older.
        until: RFC 3339; only what is older.
    """

    q: Annotated[str, Meta(max_length=1000)]
    profile: Identifier | None = None
    directory: Path | None = None
    since: str | None = None
    until: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class Challenge(Request, frozen=True, kw_only=True):
    """What the daemon is to prove that it knows the token with."""

    challenge: Annotated[str, Meta(min_length=16, max_length=200)] | None = None


class BackupTarget(Request, frozen=True, kw_only=True):
    """Where a backup goes: an absolute path of a new or empty folder."""

    folder: Path
