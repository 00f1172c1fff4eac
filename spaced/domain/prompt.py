"""The fold of one prompt: from its admission until it was handed over or cancelled."""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal

import msgspec

from spaced.domain.events.event import Event
from spaced.domain.events.prompt import (
    Delivery,
    PromptAdmitted,
    PromptCancelled,
    PromptEdited,
    PromptMoved,
    PromptOrigin,
    PromptPromoted,
    PromptReturned,
)
from spaced.domain.events.turn import TurnDispatched
from spaced.domain.json_values import JsonObject

PromptStatus = Literal["pending", "promoted", "delivered", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What a prompt was when it was accepted; a repeat of its id is judged against this alone.

    Attributes:
        address: `{kind: "session" | "run", id}` as the request named it.
        digest: of its parts.
        version: of the event that admitted it, in its run's stream.
        queue_index: how many pending prompts stood before it.
    """

    address: JsonObject
    digest: str
    delivery: Delivery
    session_id: str
    version: int
    queue_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmittedPrompt:
    """A prompt as its run's stream leaves it.

    Attributes:
        session_id: in whose queue it stands now, or stood last.
        parts: what it holds now; empty once it was handed over or cancelled.
        item_id: the item that shows it, once it was promoted.
        turn_id: the turn that it is or was part of.
    """

    id: str
    session_id: str
    admission: Admission
    parts: tuple[JsonObject, ...]
    delivery: Delivery
    origin: PromptOrigin
    held: bool
    rank: int
    status: PromptStatus = "pending"
    entry_id: str | None = None
    turn_id: str | None = None
    item_id: str | None = None
    cancelled_because: str | None = None


def digest_of_parts(parts: tuple[JsonObject, ...]) -> str:
    """Return the SHA-256 of parts, whatever the order of the keys in them."""
    return sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()


def admit_prompt(event: PromptAdmitted, *, session_id: str, version: int) -> AdmittedPrompt:
    """Return the prompt that its first event describes."""
    return AdmittedPrompt(
        id=event.prompt_id,
        session_id=session_id,
        admission=Admission(
            address=event.address,
            digest=digest_of_parts(event.parts),
            delivery=event.delivery,
            session_id=session_id,
            version=version,
            queue_index=event.queue_index,
        ),
        parts=event.parts,
        delivery=event.delivery,
        origin=event.origin,
        held=event.held,
        rank=event.rank,
        entry_id=event.entry_id,
    )


def apply_to_prompt(prompt: AdmittedPrompt, event: Event) -> AdmittedPrompt:
    """Return the prompt after an event that names it; what comes late changes nothing."""
    match event:
        case PromptReturned() if prompt.status in ("promoted", "delivered"):
            return replace(
                prompt, status="pending", parts=event.parts, rank=event.rank, turn_id=None
            )
        case PromptPromoted() if prompt.status == "pending":
            return replace(prompt, status="promoted", turn_id=event.turn_id, item_id=event.item_id)
        case TurnDispatched() if prompt.status == "promoted":
            return replace(prompt, status="delivered", parts=())
        case _ if prompt.status == "pending":
            return _apply_in_queue(prompt, event)
        case _:
            return prompt


def _apply_in_queue(prompt: AdmittedPrompt, event: Event) -> AdmittedPrompt:
    match event:
        case PromptEdited():
            return replace(
                prompt,
                parts=prompt.parts if event.parts is None else event.parts,
                delivery=prompt.delivery if event.delivery is None else event.delivery,
                held=prompt.held if event.held is None else event.held,
            )
        case PromptMoved():
            return replace(prompt, session_id=event.to_session_id, rank=event.rank)
        case PromptCancelled(reason=reason):
            return replace(prompt, status="cancelled", parts=(), cancelled_because=reason)
        case _:
            return prompt
