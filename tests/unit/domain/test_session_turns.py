"""What prompts and turns leave behind in their session: usage, history that is owed, restarts."""

import math
from typing import Any

import pytest

from spaced.domain.events.event import Event
from spaced.domain.events.session import SessionReset
from spaced.domain.events.transcript import AgentSessionCreated
from spaced.domain.events.turn import TurnDispatched, TurnEnded
from spaced.domain.session import Session, apply_to_session
from tests.unit.domain.lives import admitted, session

DISPATCHED = TurnDispatched(turn_id="turn", execution_id="exe", prompt_ids=("msg",))
LOST = SessionReset(generation=2, reason="lost")


def _fold(*events: Event, start: Session | None = None) -> Session:
    state = start or session()
    for event in events:
        state = apply_to_session(state, event, created_at=10)
    return state


def _ended(usage: dict[str, Any] | None = None, outcome: Any = "completed") -> TurnEnded:
    return TurnEnded(turn_id="turn", outcome=outcome, usage=usage)


def test_the_usage_of_turns_adds_up_by_name() -> None:
    """Whatever the provider calls it, and however the turn ended."""
    used = _fold(
        _ended({"in": 3, "cost": 0.5}),
        _ended(None, "failed"),
        _ended({"in": 4, "out": 2}, "failed"),
    )

    assert used.usage == {"in": 7, "cost": 0.5, "out": 2}


def test_only_numbers_add_up() -> None:
    """Words, truths and nested values are the turn's own and no sum."""
    used = _fold(_ended({"model": "m", "cached": True, "by": {"in": 3}, "none": None, "in": 1}))

    assert used.usage == {"in": 1}


def test_a_turn_that_used_nothing_adds_no_name() -> None:
    """A zero says nothing that the sum does not say."""
    assert _fold(_ended({"in": 0, "cost": 0.0})).usage == {}


@pytest.mark.parametrize("absurd", [10**400, -(2**60), 1e308, math.inf, math.nan], ids=repr)
def test_a_number_that_nobody_can_have_used_does_not_spoil_the_sum(absurd: float) -> None:
    """A mistake of a provider must not keep a turn from ending."""
    used = _fold(_ended({"cost": 0.5}), _ended({"cost": absurd}), _ended({"cost": 1}))

    assert used.usage == {"cost": 1.5}


def test_a_lost_conversation_owes_the_agent_its_history_until_the_next_hand_over() -> None:
    """It goes with the next turn, once."""
    assert _fold(LOST).owes_history
    assert not _fold(LOST, DISPATCHED).owes_history
    assert _fold(LOST, DISPATCHED, LOST).owes_history


def test_a_person_who_resets_a_session_owes_its_agent_nothing() -> None:
    """Forgetting is what was wanted."""
    assert not _fold(SessionReset(generation=2, reason="person")).owes_history
    assert not _fold(LOST, SessionReset(generation=3, reason="person")).owes_history


@pytest.mark.parametrize(
    ("data", "owes"), [({"owes_history": True}, True), ({"owes_history": 1}, False), ({}, False)]
)
def test_a_session_may_be_created_owing_its_history(data: dict[str, Any], owes: bool) -> None:
    """A fork and a chat that was taken over do; the key never becomes metadata."""
    created = _fold(AgentSessionCreated(data=data))

    assert created.owes_history is owes
    assert created.metadata == {}


def test_prompts_of_ours_after_restarts_are_counted_in_a_row() -> None:
    """Turns that are abandoned do not end the row."""
    told = admitted(origin="recovery")

    assert _fold(told, _ended(outcome="abandoned"), told).continued_in_a_row == 2


@pytest.mark.parametrize(
    "event",
    [_ended(), admitted(origin="person"), admitted(origin="question-answer")],
    ids=["a completed turn", "a person's prompt", "an answer"],
)
def test_a_row_ends_with_whatever_shows_that_it_went_on(event: Event) -> None:
    """From then on a restart may tell the agent to go on again."""
    told = admitted(origin="recovery")

    assert _fold(told, told, event).continued_in_a_row == 0
