"""The fold of a turn: handed over, tried again, and ended once."""

from dataclasses import replace

import pytest

from spaced.domain.events.event import Event
from spaced.domain.events.prompt import QueuePaused
from spaced.domain.events.turn import TurnDispatched, TurnEnded, TurnRetrying, TurnStarted
from spaced.domain.problem import Problem
from spaced.domain.turn import RecordedTurn, apply_to_turn, start_turn

STARTED = TurnStarted(turn_id="turn", prompt_ids=("a", "b"), entry_id="ent", workflow_version=3)
DISPATCHED = TurnDispatched(turn_id="turn", execution_id="exe", prompt_ids=("a", "b"))
STEERED = TurnDispatched(turn_id="turn", execution_id="exe", prompt_ids=("c",))
RETRYING = TurnRetrying(turn_id="turn", attempt=2, message="busy", next_at="x")
PROBLEM = Problem(code="x", message="y")
ENDED = TurnEnded(
    turn_id="turn",
    outcome="failed",
    stop_reason="refusal",
    usage={"in": 3},
    problem=PROBLEM,
    cause="person",
)


def _fold(*events: Event) -> RecordedTurn:
    state = start_turn(STARTED, session_id="ses", version=4, created_at=10)
    for event in events:
        state = apply_to_turn(state, event, created_at=20)
    return state


def test_a_turn_begins_open_and_not_handed_over() -> None:
    """It knows where it began, so that what it produced can be read."""
    assert _fold() == RecordedTurn(
        id="turn",
        session_id="ses",
        prompt_ids=("a", "b"),
        started_version=4,
        started_at=10,
        entry_id="ent",
    )
    assert not _fold().is_dispatched


def test_a_dispatched_turn_knows_its_execution_and_counts_the_attempt() -> None:
    """From then on the agent may have had the prompts."""
    turn = _fold(DISPATCHED)

    assert turn.is_dispatched
    assert (turn.execution_id, turn.attempts, turn.prompt_ids) == ("exe", 1, ("a", "b"))


def test_steers_join_a_turn_without_another_attempt() -> None:
    """They are told to an agent that is at work already."""
    turn = _fold(DISPATCHED, STEERED)

    assert (turn.prompt_ids, turn.attempts) == (("a", "b", "c"), 1)


def test_each_repeated_hand_over_is_an_attempt() -> None:
    """What a retry announces is what the next hand-over makes true."""
    again = replace(DISPATCHED, execution_id="exe-2", prompt_ids=("a", "b", "c"))

    assert _fold(DISPATCHED, RETRYING).attempts == 1
    assert _fold(DISPATCHED, RETRYING, DISPATCHED).attempts == 2
    turn = _fold(DISPATCHED, STEERED, RETRYING, again)
    assert (turn.attempts, turn.execution_id, turn.prompt_ids) == (2, "exe-2", ("a", "b", "c"))


def test_an_ended_turn_says_how() -> None:
    """Outcome, reason, usage, problem and cause are those of its end."""
    assert _fold(DISPATCHED, ENDED) == replace(
        _fold(DISPATCHED),
        status="ended",
        ended_at=20,
        outcome="failed",
        stop_reason="refusal",
        usage={"in": 3},
        problem=PROBLEM,
        cause="person",
    )


@pytest.mark.parametrize(
    "late", [DISPATCHED, STEERED, RETRYING, replace(ENDED, outcome="completed")]
)
def test_an_ended_turn_never_changes(late: Event) -> None:
    """The first end counts, and nothing is handed over to it any more."""
    ended = _fold(ENDED)

    assert apply_to_turn(ended, late, created_at=99) is ended


def test_other_events_are_not_about_a_turn() -> None:
    """They return the turn itself."""
    turn = _fold()

    assert apply_to_turn(turn, QueuePaused(reason="person"), created_at=99) is turn
