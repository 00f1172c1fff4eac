"""Prompts: admitted before anything runs, promoted into turns in the queue's order."""

from typing import Literal

from spaced.domain.events.event import SessionEvent, event
from spaced.domain.json_values import JsonObject

Delivery = Literal["queue", "steer"]
PromptOrigin = Literal["person", "step-entry", "question-answer", "recovery"]


@event("prompt-admitted")
class PromptAdmitted(SessionEvent):
    """A prompt was accepted; from now on it is delivered once, or cancelled visibly.

    Attributes:
        parts: `text`, `file` and `mention` parts in order.
        address: `{kind: "session" | "run", id}` as the request named it; a repeat of the same
            prompt id is judged against it.
        origin: who asks; only a person's prompt can trigger `on_turn_start`.
        held: admitted without waking the session; it waits to be released.
        rank: where it stands among the session's pending prompts; smaller ranks go first.
        queue_index: how many pending prompts stood before it, as the first answer told.
        entry_id: the step entry that it belongs to, for the prompt of a step.
    """

    prompt_id: str
    parts: tuple[JsonObject, ...]
    delivery: Delivery
    address: JsonObject
    origin: PromptOrigin
    held: bool
    rank: int
    queue_index: int
    entry_id: str | None = None


@event("prompt-edited")
class PromptEdited(SessionEvent):
    """A pending prompt was changed; an absent field stays as it was.

    Attributes:
        held: false releases a prompt that was admitted without waking the session.
    """

    prompt_id: str
    parts: tuple[JsonObject, ...] | None = None
    delivery: Delivery | None = None
    held: bool | None = None


@event("prompt-moved")
class PromptMoved(SessionEvent):
    """A pending prompt has another place, in this session's queue or in another session's.

    Attributes:
        to_session_id: the session whose queue it stands in now; the envelope names the one that
            it stood in before.
    """

    prompt_id: str
    to_session_id: str
    rank: int


@event("prompt-cancelled")
class PromptCancelled(SessionEvent):
    """A pending prompt will not be delivered.

    Attributes:
        reason: a stable code, such as `person` or `entry-failed`.
    """

    prompt_id: str
    reason: str


@event("prompt-promoted")
class PromptPromoted(SessionEvent):
    """A prompt left the queue and is part of a turn.

    Attributes:
        item_id: the transcript item that shows it.
    """

    prompt_id: str
    turn_id: str
    item_id: str


@event("prompt-returned")
class PromptReturned(SessionEvent):
    """A promoted prompt is pending again, since the agent never had it.

    Attributes:
        turn_id: the turn that it was promoted into.
        parts: what it holds; the item that shows it stays, and its next promotion adds none.
        rank: where it stands again.
    """

    prompt_id: str
    turn_id: str
    parts: tuple[JsonObject, ...]
    rank: int


@event("queue-paused")
class QueuePaused(SessionEvent):
    """Pending prompts wait until somebody resumes the queue or prompts again."""

    reason: Literal["interrupt", "entry-failed", "not-dispatched", "person"]


@event("queue-resumed")
class QueueResumed(SessionEvent):
    """The queue goes on in its order."""

    reason: Literal["prompt", "person", "step-entry"]
