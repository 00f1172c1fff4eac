"""Decides what a restart records about a session whose agent is gone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from spaced.domain.ask import Ask
from spaced.domain.events.ask import AskExpired
from spaced.domain.events.event import Event
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentItemUpdated,
)
from spaced.domain.events.turn import ExecutionEnded
from spaced.domain.execution import Execution
from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem
from spaced.domain.prompt import AdmittedPrompt
from spaced.domain.prompt_queue import admit_ours, rank_ahead
from spaced.domain.session import Session
from spaced.domain.session_items import closing_fields, interrupted_result, is_open
from spaced.domain.turn import RecordedTurn
from spaced.domain.turn_decisions import end_turn, ending_item, return_prompts

MOST_IN_A_ROW: Final = 3
GO_ON: Final = (
    "The program that connects you was restarted while you were at work. Whatever you began last "
    "may have happened in part, so look at the state of things first, then go on with the task."
)
_LOST: Final = Problem(
    code="restarted",
    message="The daemon was restarted while this turn was running, and the agent is gone.",
    remedy="Look at what was done, then send a prompt to go on.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """Text of an open item that is not in the log yet."""

    item_id: str
    field: str
    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOver:
    """What an earlier life of the daemon has left open in a session.

    Attributes:
        items: the items that are open, and those of the open turn, in their order.
    """

    session: Session
    turn: RecordedTurn | None
    promoted: Sequence[AdmittedPrompt]
    executions: Sequence[Execution]
    asks: Sequence[Ask]
    items: Sequence[JsonObject]
    tails: Sequence[Tail]


def tail_events(items: Sequence[JsonObject], tails: Sequence[Tail]) -> list[Event]:
    """Return what of the tails lies beyond the stored texts; a tail may be older than those."""
    by_id = {item.get("id"): item for item in items}
    events: list[Event] = []
    for tail in tails:
        item = by_id.get(tail.item_id)
        stored = None if item is None else item.get(tail.field)
        length = len(stored) if isinstance(stored, str) else 0
        beyond = tail.text[max(0, length - tail.offset) :]
        if item is not None and beyond and tail.offset <= length:
            events.append(
                AgentItemTextAppended(
                    item_id=tail.item_id, field=tail.field, offset=length, text=beyond
                )
            )
    return events


def abandon(left: LeftOver, *, new_item_id: Callable[[], str], created_at: str) -> list[Event]:
    """Return what closes everything that nobody will go on with.

    Args:
        created_at: now, as an RFC 3339 time.
    """
    events: list[Event] = [*tail_events(left.items, left.tails)]
    events += _closed_items(left, new_item_id, created_at)
    turn = left.turn
    if turn is not None:
        events += return_prompts(left.promoted, turn.id)
        if turn.is_dispatched:
            notice = ending_item(
                new_item_id(), turn.id, created_at, outcome="abandoned", problem=_LOST
            )
            events += [] if notice is None else [AgentItemAppended(item=notice)]
    events += [
        ExecutionEnded(execution_id=execution.id, reason="restart") for execution in left.executions
    ]
    asks = [ask for ask in left.asks if _is_void(ask, turn)]
    if turn is None:
        return [*events, *(AskExpired(ask_id=ask.id, reason="restart") for ask in asks)]
    is_lost = turn.is_dispatched
    return [
        *events,
        *end_turn(
            turn,
            left.session,
            asks,
            outcome="abandoned" if is_lost else "not-dispatched",
            problem=_LOST if is_lost else None,
        ),
    ]


def give_back(
    turn: RecordedTurn, session: Session, promoted: Sequence[AdmittedPrompt]
) -> list[Event]:
    """Return what ends a turn that no agent was given: its prompts are pending again."""
    ended = end_turn(turn, session, [], outcome="not-dispatched")
    return [*return_prompts(promoted, turn.id), *ended]


def go_on(session: Session, pending: Sequence[AdmittedPrompt], *, prompt_id: str) -> list[Event]:
    """Return the prompt that tells an agent to go on, unless that has not helped before."""
    if session.continued_in_a_row >= MOST_IN_A_ROW or session.is_queue_paused:
        return []
    rank = rank_ahead(pending)
    return [
        admit_ours(session.id, GO_ON, prompt_id=prompt_id, origin="recovery", rank=rank, ahead=0)
    ]


def _is_void(ask: Ask, turn: RecordedTurn | None) -> bool:
    """Tell whether nobody waits any more: a question of a turn that was completed stays open."""
    return ask.kind == "permission" or (turn is not None and ask.turn_id == turn.id)


def _closed_items(left: LeftOver, new_item_id: Callable[[], str], created_at: str) -> list[Event]:
    answered = {i.get("call_id") for i in left.items if i.get("type") == "tool-result"}
    events: list[Event] = []
    for item in left.items:
        if is_open(item):
            updates = closing_fields(item, is_completed=False)
            events.append(AgentItemUpdated(item_id=str(item["id"]), updates=updates))
        if _was_cut_off(item) and item["call_id"] not in answered:
            answered.add(item["call_id"])
            result = interrupted_result(item, created_at)
            events.append(AgentItemAppended(item={"id": new_item_id(), **result}))
    return events


def _was_cut_off(item: JsonObject) -> bool:
    """Tell whether an item is a call that will have no result of its own."""
    is_call = item.get("type") == "tool-call" and isinstance(item.get("call_id"), str)
    return is_call and item.get("status") not in ("completed", "failed")
