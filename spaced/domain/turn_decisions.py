"""Decides what a turn's beginning and end put into the log: each in one piece."""

from collections.abc import Callable, Sequence

from spaced.domain.ask import Ask
from spaced.domain.events.ask import AskExpired
from spaced.domain.events.event import Event
from spaced.domain.events.prompt import PromptPromoted, PromptReturned
from spaced.domain.events.run import StepResumed, StepWaiting
from spaced.domain.events.transcript import AgentItemAppended, AgentStatusChanged
from spaced.domain.events.turn import TurnEnded, TurnOutcome, TurnStarted
from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem
from spaced.domain.prompt import AdmittedPrompt
from spaced.domain.prompt_parts import shown_item
from spaced.domain.run import Run
from spaced.domain.session import Session
from spaced.domain.session_items import event_item
from spaced.domain.turn import RecordedTurn


def may_begin(run: Run, session: Session) -> bool:
    """Tell whether a new turn may begin: the primary waits until its step's actions are done."""
    if run.is_deleted or session.is_deleted or session.is_terminal:
        return False
    if run.primary_session_id != session.id or run.entry is None:
        return True
    return run.entry.is_settled and run.entry.status != "failed"


def begin_turn(
    run: Run,
    session: Session,
    prompts: Sequence[AdmittedPrompt],
    *,
    turn_id: str,
    workflow_version: int | None,
    new_item_id: Callable[[], str],
    created_at: str,
) -> list[Event]:
    """Return what begins a turn: the prompts leave the queue and stand in the transcript.

    Args:
        created_at: now, as an RFC 3339 time.
    """
    entry = run.entry if run.primary_session_id == session.id else None
    events = show_prompts(prompts, turn_id=turn_id, new_item_id=new_item_id, created_at=created_at)
    events.append(AgentStatusChanged(status="running"))
    if entry is not None:
        events.append(StepResumed(entry_id=entry.id, turn_id=turn_id))
    events.append(
        TurnStarted(
            turn_id=turn_id,
            prompt_ids=tuple(prompt.id for prompt in prompts),
            entry_id=None if entry is None else entry.id,
            workflow_version=workflow_version,
        )
    )
    if entry is not None:
        # While the turn streams, the run waits for the next input already.
        events.append(StepWaiting(entry_id=entry.id, wait_kind="agent-user-input"))
    return events


def show_prompts(
    prompts: Sequence[AdmittedPrompt],
    *,
    turn_id: str,
    new_item_id: Callable[[], str],
    created_at: str,
) -> list[Event]:
    """Return what takes prompts out of the queue; one that was shown before adds no item."""
    events: list[Event] = []
    for prompt in prompts:
        item_id = prompt.item_id or new_item_id()
        events.append(PromptPromoted(prompt_id=prompt.id, turn_id=turn_id, item_id=item_id))
        if prompt.item_id is None:
            item: dict[str, object] = {"id": item_id, **shown_item(prompt.id, prompt.parts)}
            item |= {"turn_id": turn_id, "created_at": created_at}
            if prompt.origin != "person":
                item["origin"] = prompt.origin
            events.append(AgentItemAppended(item=item))
    return events


def end_turn(
    turn: RecordedTurn,
    session: Session,
    asks: Sequence[Ask],
    *,
    outcome: TurnOutcome,
    stop_reason: str | None = None,
    usage: JsonObject | None = None,
    problem: Problem | None = None,
    cause: str | None = None,
) -> list[Event]:
    """Return what releases a turn: its asks close, and the session is idle again.

    A question that a completed turn leaves open stays open: its answer comes as a prompt.
    """
    reasons = {"completed": "turn-ended", "failed": "turn-ended", "interrupted": "interrupted"}
    events: list[Event] = [
        AskExpired(ask_id=ask.id, reason=reasons.get(outcome, "restart"))
        for ask in asks
        if ask.kind == "permission" or outcome != "completed"
    ]
    events.append(
        TurnEnded(
            turn_id=turn.id,
            outcome=outcome,
            stop_reason=stop_reason,
            usage=usage,
            problem=problem,
            cause=cause,
        )
    )
    if not session.is_terminal:
        events.append(AgentStatusChanged(status="idle"))
    return events


def return_prompts(prompts: Sequence[AdmittedPrompt], turn_id: str) -> list[Event]:
    """Return what makes promoted prompts pending again, at the places where they stood."""
    return [
        PromptReturned(prompt_id=p.id, turn_id=turn_id, parts=p.parts, rank=p.rank) for p in prompts
    ]


def ending_item(
    item_id: str,
    turn_id: str,
    created_at: str,
    *,
    outcome: TurnOutcome,
    problem: Problem | None = None,
    cause: str | None = None,
) -> JsonObject | None:
    """Return the item that shows how a turn ended, where that is not the usual way."""
    if problem is not None:
        error = f"{problem.message} {problem.remedy}".strip()
        return {
            "id": item_id,
            "type": "error",
            "error": error,
            "code": problem.code,
            "turn_id": turn_id,
            "created_at": created_at,
        }
    if outcome in ("completed", "failed"):
        return None
    details = {} if cause is None else {"cause": cause}
    return event_item(item_id, f"turn-{outcome}", details, created_at, turn_id=turn_id)
