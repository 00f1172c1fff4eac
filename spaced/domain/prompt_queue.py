"""Decides on a session's queue: where a prompt goes, and which prompts go next."""

from collections.abc import Sequence
from typing import Final

import msgspec

from spaced.domain.events.event import Event
from spaced.domain.events.prompt import (
    PromptAdmitted,
    PromptEdited,
    PromptMoved,
    PromptOrigin,
    QueueResumed,
)
from spaced.domain.prompt import AdmittedPrompt

GAP: Final = 1 << 20
"""Between the ranks of two prompts, so that another one can be moved in between."""

_TOGETHER_BYTES: Final = 3 * 1024 * 1024


def rank_behind(pending: Sequence[AdmittedPrompt]) -> int:
    """Return the rank of a prompt that comes after all pending ones."""
    return max((prompt.rank for prompt in pending), default=0) + GAP


def rank_ahead(pending: Sequence[AdmittedPrompt]) -> int:
    """Return the rank of a prompt that comes before all pending ones."""
    return min((prompt.rank for prompt in pending), default=0) - GAP


def choose_next(
    pending: Sequence[AdmittedPrompt], *, is_paused: bool
) -> tuple[AdmittedPrompt, ...]:
    """Return the prompts of the next turn: all steers together, else the first queued one alone.

    Args:
        pending: in the order of the queue.
        is_paused: whether the queue waits until somebody resumes it.
    """
    if is_paused:
        return ()
    steers = choose_steers(pending)
    return steers or tuple(prompt for prompt in pending if not prompt.held)[:1]


def choose_steers(pending: Sequence[AdmittedPrompt]) -> tuple[AdmittedPrompt, ...]:
    """Return the steers that go together, in the order of their admission."""
    waiting = [p for p in pending if p.delivery == "steer" and not p.held]
    waiting.sort(key=lambda prompt: prompt.admission.version)
    chosen: list[AdmittedPrompt] = []
    size = 0
    for prompt in waiting:
        size += len(msgspec.json.encode(prompt.parts))
        if chosen and size > _TOGETHER_BYTES:
            break  # what does not fit into one append goes with the next
        chosen.append(prompt)
    return tuple(chosen)


def release(pending: Sequence[AdmittedPrompt], *, is_paused: bool) -> list[Event]:
    """Return what lets the whole queue go on when a waking prompt comes."""
    events: list[Event] = [
        PromptEdited(prompt_id=prompt.id, held=False) for prompt in pending if prompt.held
    ]
    if is_paused:
        events.append(QueueResumed(reason="prompt"))
    return events


def move(
    pending: Sequence[AdmittedPrompt], prompt: AdmittedPrompt, *, to_index: int
) -> list[Event]:
    """Return what puts a pending prompt at another place of its queue.

    Args:
        to_index: its place among the pending prompts afterwards, from 0; beyond the end is last.
    """
    others = [other for other in pending if other.id != prompt.id]
    place = max(0, min(to_index, len(others)))
    order = [*others[:place], prompt, *others[place:]]
    if order == list(pending):
        return []
    before = others[place - 1].rank if place else None
    behind = others[place].rank if place < len(others) else None
    rank = _between(before, behind)
    if rank is not None:
        return [_moved(prompt, rank)]
    return [_moved(p, (index + 1) * GAP) for index, p in enumerate(order)]


def _between(before: int | None, behind: int | None) -> int | None:
    if before is None:
        return (behind or 0) - GAP
    if behind is None:
        return before + GAP
    middle = (before + behind) // 2
    return middle if before < middle < behind else None


def _moved(prompt: AdmittedPrompt, rank: int) -> PromptMoved:
    return PromptMoved(prompt_id=prompt.id, to_session_id=prompt.session_id, rank=rank)


def admit_ours(
    session_id: str, text: str, *, prompt_id: str, origin: PromptOrigin, rank: int, ahead: int
) -> PromptAdmitted:
    """Return the admission of a prompt that no client sent.

    Args:
        ahead: how many pending prompts stand before it.
    """
    return PromptAdmitted(
        prompt_id=prompt_id,
        parts=({"type": "text", "text": text},),
        delivery="queue",
        address={"kind": "session", "id": session_id},
        origin=origin,
        held=False,
        rank=rank,
        queue_index=ahead,
    )
