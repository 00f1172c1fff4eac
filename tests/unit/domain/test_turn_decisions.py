"""What the beginning and the end of a turn put into the log."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from spaced.domain.ask import Ask
from spaced.domain.events.ask import AskExpired
from spaced.domain.events.event import Event
from spaced.domain.events.prompt import PromptPromoted, PromptReturned
from spaced.domain.events.run import StepResumed, StepWaiting
from spaced.domain.events.transcript import AgentItemAppended, AgentStatusChanged
from spaced.domain.events.turn import TurnEnded, TurnOutcome, TurnStarted
from spaced.domain.problem import Problem
from spaced.domain.prompt import apply_to_prompt
from spaced.domain.run import CurrentEntry, Run
from spaced.domain.session import Session
from spaced.domain.turn_decisions import begin_turn, end_turn, may_begin, return_prompts
from tests.unit.domain.lives import parts_of, permission, prompt, question, session, turn

ENTRY = CurrentEntry(
    id="ent", step_id="s", workflow_id="wf", workflow_version=1, status="waiting", is_settled=True
)
RUN = Run(
    id="ses",
    workflow_id="wf",
    workflow_version=1,
    created_at=0,
    primary_session_id="ses",
    entry=ENTRY,
)
NOW = "2026-12-01T09:30:00.000Z"
IDLE = AgentStatusChanged(status="idle")


def _ids() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"itm-{next(numbers)}"


def _begin(run: Run, *prompts: object, of: Session | None = None) -> list[Event]:
    return begin_turn(
        run,
        of or session(),
        [p for p in prompts if isinstance(p, type(prompt()))],
        turn_id="turn",
        workflow_version=7,
        new_item_id=_ids(),
        created_at=NOW,
    )


@pytest.mark.parametrize(
    ("run", "of", "expected"),
    [
        (RUN, session(), True),
        (replace(RUN, purge_at=NOW), session(), False),
        (RUN, session(is_deleted=True), False),
        (RUN, session(status="failed"), False),
        (replace(RUN, entry=None), session(), True),
        (replace(RUN, entry=replace(ENTRY, is_settled=False)), session(), False),
        (replace(RUN, entry=replace(ENTRY, status="failed")), session(), False),
        (
            replace(RUN, entry=replace(ENTRY, is_settled=False), primary_session_id="x"),
            session(),
            True,
        ),
    ],
    ids=[
        *("settled", "deleted run", "deleted session", "terminal session", "no entry"),
        *("actions at work", "failed entry", "another session is primary"),
    ],
)
def test_a_turn_may_begin_unless_something_is_over_or_the_step_is_at_work(
    run: Run, of: Session, expected: bool
) -> None:
    """Only the primary session waits for its step."""
    assert may_begin(run, of) is expected


def test_a_turn_of_the_primary_session_takes_the_run_out_of_waiting_and_back() -> None:
    """The prompt is shown first; while the turn streams the run waits for the next input."""
    shown = {
        "id": "itm-1",
        "type": "message",
        "role": "user",
        "content": "text of msg",
        "prompt_id": "msg",
        "turn_id": "turn",
        "created_at": NOW,
    }

    assert _begin(RUN, prompt()) == [
        PromptPromoted(prompt_id="msg", turn_id="turn", item_id="itm-1"),
        AgentItemAppended(item=shown),
        AgentStatusChanged(status="running"),
        StepResumed(entry_id="ent", turn_id="turn"),
        TurnStarted(turn_id="turn", prompt_ids=("msg",), entry_id="ent", workflow_version=7),
        StepWaiting(entry_id="ent", wait_kind="agent-user-input"),
    ]


@pytest.mark.parametrize("run", [replace(RUN, entry=None), replace(RUN, primary_session_id="x")])
def test_a_turn_of_another_session_leaves_the_step_alone(run: Run) -> None:
    """It belongs to no step entry."""
    events = _begin(run, prompt("a"), prompt("b"))

    assert [event.kind for event in events] == [
        *("prompt-promoted", "agent-item-appended") * 2,
        *("agent-status-changed", "turn-started"),
    ]
    assert isinstance(events[-1], TurnStarted)
    assert (events[-1].prompt_ids, events[-1].entry_id) == (("a", "b"), None)


def test_a_prompt_that_was_shown_before_adds_no_item() -> None:
    """It came back from a turn that could not be handed over."""
    promoted, *rest = _begin(RUN, replace(prompt(), item_id="itm-old"))

    assert promoted == PromptPromoted(prompt_id="msg", turn_id="turn", item_id="itm-old")
    assert not any(isinstance(event, AgentItemAppended) for event in rest)


def test_a_prompt_that_no_person_wrote_says_so_in_its_item() -> None:
    """Clients show it in another way."""
    shown = _begin(RUN, prompt(origin="recovery"))[1]

    assert isinstance(shown, AgentItemAppended)
    assert shown.item["origin"] == "recovery"


@pytest.mark.parametrize(
    ("outcome", "expired"),
    [
        ("completed", [("per", "turn-ended")]),
        ("failed", [("per", "turn-ended"), ("que", "turn-ended")]),
        ("interrupted", [("per", "interrupted"), ("que", "interrupted")]),
        ("abandoned", [("per", "restart"), ("que", "restart")]),
        ("daemon-stopped", [("per", "restart"), ("que", "restart")]),
    ],
)
def test_a_turn_that_ends_closes_its_asks(
    outcome: TurnOutcome, expired: list[tuple[str, str]]
) -> None:
    """A question of a completed turn stays open: its answer comes as a prompt."""
    asks: list[Ask] = [permission(), question()]

    events = end_turn(turn(), session(), asks, outcome=outcome)

    assert events == [
        *(AskExpired(ask_id=ask_id, reason=reason) for ask_id, reason in expired),
        TurnEnded(turn_id="turn", outcome=outcome),
        IDLE,
    ]


def test_the_end_of_a_turn_keeps_what_was_told_about_it() -> None:
    """Reason, usage, problem and cause."""
    problem = Problem(code="x", message="y")
    told = end_turn(
        turn(),
        session(),
        [],
        outcome="failed",
        stop_reason="refusal",
        usage={"in": 1},
        problem=problem,
        cause="person",
    )

    assert told[0] == TurnEnded(
        turn_id="turn",
        outcome="failed",
        stop_reason="refusal",
        usage={"in": 1},
        problem=problem,
        cause="person",
    )


def test_a_session_that_is_over_does_not_become_idle_again() -> None:
    """A run may have been completed while its last turn was running."""
    events = end_turn(turn(), session(status="completed"), [], outcome="completed")

    assert events == [TurnEnded(turn_id="turn", outcome="completed")]


def test_returned_prompts_stand_where_they_stood() -> None:
    """With all that they hold, so that nothing has to be asked again."""
    pending = prompt(rank=5)
    promoted = apply_to_prompt(
        pending, PromptPromoted(prompt_id="msg", turn_id="turn", item_id="itm")
    )

    (returned,) = return_prompts([promoted], "turn")

    assert returned == PromptReturned(
        prompt_id="msg", turn_id="turn", parts=parts_of("text of msg"), rank=5
    )
    assert apply_to_prompt(promoted, returned) == replace(pending, item_id="itm")
