"""The fold of one turn: from the promotion of its prompts until the agent is idle again."""

from dataclasses import dataclass, replace
from typing import Literal

from spaced.domain.events.event import Event
from spaced.domain.events.turn import (
    TurnDispatched,
    TurnEnded,
    TurnOutcome,
    TurnRetrying,
    TurnStarted,
)
from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem

TurnStatus = Literal["open", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTurn:
    """A turn as its run's stream leaves it.

    Attributes:
        prompt_ids: those that began it, then the steers that joined it.
        started_version: of the event that began it; what it produced comes after that.
        execution_id: where it was dispatched to; `None` as long as nothing was handed over.
        attempts: how often its prompts were handed over.
        started_at: milliseconds since the epoch.
    """

    id: str
    session_id: str
    prompt_ids: tuple[str, ...]
    started_version: int
    started_at: int
    entry_id: str | None = None
    status: TurnStatus = "open"
    execution_id: str | None = None
    attempts: int = 0
    ended_at: int | None = None
    outcome: TurnOutcome | None = None
    stop_reason: str | None = None
    usage: JsonObject | None = None
    problem: Problem | None = None
    cause: str | None = None

    @property
    def is_dispatched(self) -> bool:
        """Whether the agent may have had its prompts."""
        return self.execution_id is not None


def start_turn(
    event: TurnStarted, *, session_id: str, version: int, created_at: int
) -> RecordedTurn:
    """Return the turn that its first event describes."""
    return RecordedTurn(
        id=event.turn_id,
        session_id=session_id,
        prompt_ids=event.prompt_ids,
        started_version=version,
        started_at=created_at,
        entry_id=event.entry_id,
    )


def apply_to_turn(turn: RecordedTurn, event: Event, *, created_at: int) -> RecordedTurn:
    """Return the turn after an event that names it; an ended turn never changes."""
    if turn.status == "ended":
        return turn
    match event:
        case TurnDispatched():
            return _dispatched(turn, event)
        case TurnRetrying(attempt=attempt):
            return replace(turn, attempts=attempt - 1)
        case TurnEnded():
            return replace(
                turn,
                status="ended",
                ended_at=created_at,
                outcome=event.outcome,
                stop_reason=event.stop_reason,
                usage=event.usage,
                problem=event.problem,
                cause=event.cause,
            )
        case _:
            return turn


def _dispatched(turn: RecordedTurn, event: TurnDispatched) -> RecordedTurn:
    steers = tuple(p for p in event.prompt_ids if p not in turn.prompt_ids)
    return replace(
        turn,
        execution_id=event.execution_id,
        prompt_ids=turn.prompt_ids + steers,
        attempts=turn.attempts + (not steers),
    )
