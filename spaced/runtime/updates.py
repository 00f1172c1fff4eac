"""What a runtime may report: a closed union of updates, each pushed through its session's sink.

`turn_id` names the turn that an update belongs to; `None` is output outside of any turn, such as
that of a task in the background. Whatever comes after its turn has ended is kept and marked.

`source` is the provider's own name for what an update is about. It is unique only within one
generation of the session; the core gives items and asks ids of its own. An update with a source
that is not known yet opens a new item.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem
from spaced.domain.session_items import ItemType

FinishedOutcome: TypeAlias = Literal["completed", "failed", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemUpserted:
    """An item of the transcript began, or looks like this now.

    Attributes:
        source: the provider's name for the item.
        item: `type` and that type's fields, as in docs/events.md; fields that are left out stay
            as they were. Never `id`, `turn_id`, `round` or `source`: the core sets those.
        round: the number of the model call inside the turn, where the provider tells.
    """

    source: str
    item: JsonObject
    turn_id: str | None = None
    round: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextAppended:
    """Text was added to the end of an item.

    Attributes:
        source: the provider's name for the item; a new one opens an item of this type.
        text: may be empty and may end in half a surrogate pair.
        field: the item's field that grows: `content`, or `output` of a tool's result.
        opens_with: fields of the item beside `type`, used only if this opens it.
    """

    source: str
    text: str
    item_type: ItemType = "message"
    field: str = "content"
    opens_with: JsonObject | None = None
    turn_id: str | None = None
    round: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionWanted:
    """The agent wants to be allowed a tool call, and waits.

    Attributes:
        ask_id: the runtime's own name for the ask; `AgentConnection.answer` gets it back. Reported
            again, it is the same ask, reopened if the call has changed.
        tool_kind: what kind of tool, such as `edit`, `execute`, `read` or `fetch`.
        tool_call: `name`, `title`, `arguments` and whatever else a person should see.
        options: what can be answered: `{option_id, name, kind}`; `kind` is `allow_once`,
            `allow_always`, `reject_once` or `reject_always`.
        subject: what a pattern of a rule is compared with: a command line, a path, an address.
        pattern: what "always" should cover, if the agent offers one.
        source: the item of the tool call, if it was or will be reported.
    """

    ask_id: str
    tool_kind: str
    tool_call: JsonObject
    options: tuple[JsonObject, ...]
    subject: str = ""
    pattern: str | None = None
    source: str | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWanted:
    """The agent asks the person something.

    Attributes:
        ask_id: the runtime's own name for the ask.
        questions: `{text, header?, choices?: [{label, description?}], multiple?}` each.
    """

    ask_id: str
    questions: tuple[JsonObject, ...]
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskWithdrawn:
    """The agent no longer waits for an answer."""

    ask_id: str
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuityChanged:
    """What is needed to continue the provider's conversation is this from now on."""

    continuity: JsonObject
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationLost:
    """The provider knows the conversation no more; a new one has begun.

    The core raises the generation, and hands the transcript over with the next turn.
    """

    message: str
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationReplayed:
    """The agent has told again what it remembers; it is compared with the log, never recorded.

    Attributes:
        entries: `{type: "message", role, text}`, `{type: "reasoning", role, text}` or
            `{type: "tool-call", call_id}` in their order, the newest last; older ones may be left
            out.
    """

    entries: tuple[JsonObject, ...]
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfoChanged:
    """The agent tells about its session: `title`, `commands`, `modes`, `models`, and the like."""

    info: JsonObject
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageChanged:
    """Tokens, cost or the fill of the context so far; the last report holds."""

    usage: JsonObject
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRetrying:
    """The agent tries something again by itself; it is shown and changes nothing.

    Attributes:
        next_in_ms: when it will, in milliseconds from now, if it says so.
    """

    attempt: int
    message: str
    next_in_ms: int | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptNotTaken:
    """The agent did not take the turn's prompts, so that it is safe to hand them over again.

    Attributes:
        after_ms: how long to wait before that; `None` leaves it to the core.
    """

    turn_id: str
    message: str
    after_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished:
    """The agent is idle again.

    Attributes:
        stop_reason: the provider's word for why.
        usage: tokens and cost of the turn.
        problem: why it failed, if it did.
    """

    turn_id: str
    outcome: FinishedOutcome = "completed"
    stop_reason: str | None = None
    usage: JsonObject | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFinished:
    """The connection is gone; nothing more will be reported through its sink.

    Attributes:
        reason: a stable code, such as `crashed` or `closed`.
        details: exit code, signal, last lines of the error output.
    """

    reason: str
    problem: Problem | None = None
    details: JsonObject | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownReport:
    """The provider said something that no other update can say; it is kept as an event item."""

    kind: str
    payload: JsonObject
    turn_id: str | None = None


Update: TypeAlias = (
    ItemUpserted
    | TextAppended
    | PermissionWanted
    | QuestionWanted
    | AskWithdrawn
    | ContinuityChanged
    | ConversationLost
    | ConversationReplayed
    | SessionInfoChanged
    | UsageChanged
    | AgentRetrying
    | PromptNotTaken
    | TurnFinished
    | ExecutionFinished
    | UnknownReport
)
