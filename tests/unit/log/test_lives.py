"""The rows of prompts, turns, asks and executions: what a restart finds by index."""

from typing import Any

import pytest

from spaced.domain.events.ask import AskExpired, PermissionAsked, QuestionAnswered, QuestionAsked
from spaced.domain.events.event import Event
from spaced.domain.events.prompt import (
    PromptAdmitted,
    PromptCancelled,
    PromptEdited,
    PromptMoved,
    PromptPromoted,
    PromptReturned,
)
from spaced.domain.events.run import RunCreated
from spaced.domain.events.transcript import AgentSessionCreated
from spaced.domain.events.turn import (
    ExecutionEnded,
    ExecutionOpened,
    TurnDispatched,
    TurnEnded,
    TurnRetrying,
    TurnStarted,
)
from spaced.errors import KeyTaken
from spaced.log.fact import Fact
from spaced.log.fold import StreamFold, fold_stream
from spaced.log.read_models.catalogue import TABLES
from spaced.log.read_models.lives import ASKS, EXECUTIONS, PROMPTS, TURNS, Lives
from spaced.log.read_models.read_model import RowsInHand
from spaced.testing.fake_clock import START
from tests.unit.log.stories import recorded, said

ADMITTED = PromptAdmitted(
    prompt_id="msg",
    parts=({"type": "text", "text": "x"},),
    delivery="queue",
    address={"kind": "session", "id": "run"},
    origin="person",
    held=False,
    rank=1,
    queue_index=0,
)
PROMOTED = PromptPromoted(prompt_id="msg", turn_id="turn", item_id="itm")
STARTED = TurnStarted(turn_id="turn", prompt_ids=("msg",))
DISPATCHED = TurnDispatched(turn_id="turn", execution_id="exe", prompt_ids=("msg",))
OPENED = ExecutionOpened(execution_id="exe", runtime="scripted", generation=1)
QUESTION = QuestionAsked(ask_id="ask", questions=({"text": "Which?"},), turn_id="turn")
PERMISSION = PermissionAsked(ask_id="ask", tool_kind="edit", tool_call={}, options=(), digest="d")
BEGINNINGS: list[tuple[Lives[Any], str, Event]] = [
    (PROMPTS, "msg", ADMITTED),
    (TURNS, "turn", STARTED),
    (ASKS, "ask", QUESTION),
    (ASKS, "ask", PERMISSION),
    (EXECUTIONS, "exe", OPENED),
]


def _fold(*events: Event) -> StreamFold:
    chat = RunCreated(workflow_id="wf", workflow_version=1, context={})
    opened = [said(chat), said(AgentSessionCreated(data={}), "run")]
    fold = fold_stream(recorded("run", [*opened, *(said(event, "run") for event in events)]))
    assert fold.damage is None
    return fold


def _state(fold: StreamFold, lives: Lives[Any], name: str) -> Any:
    row = fold.row(lives.table.name, (name,))
    return None if row is None else lives.state_of(row)


@pytest.mark.parametrize(("lives", "name", "event"), BEGINNINGS)
def test_the_first_event_of_a_life_writes_a_row_that_is_found_as_unfinished(
    lives: Lives[Any], name: str, event: Event
) -> None:
    """With its session, its stream and all of its state."""
    row = _fold(event).row(lives.table.name, (name,))

    assert row is not None
    assert (row["id"], row["stream"], row["session_id"]) == (name, "run", "run")
    assert row["status"] in lives.unfinished
    state = lives.state_of(row)
    assert (state.id, state.session_id, state.status) == (name, "run", row["status"])


def test_a_life_knows_when_and_where_it_began() -> None:
    """By the envelope of its first event."""
    fold = _fold(ADMITTED, STARTED, QUESTION)

    assert _state(fold, PROMPTS, "msg").admission.version == 3
    turn = _state(fold, TURNS, "turn")
    assert (turn.started_version, turn.started_at) == (4, START)
    assert _state(fold, ASKS, "ask").asked_at == START


@pytest.mark.parametrize(
    ("events", "lives", "name", "status"),
    [
        ([ADMITTED, PromptEdited(prompt_id="msg", held=True)], PROMPTS, "msg", "pending"),
        ([ADMITTED, PROMOTED], PROMPTS, "msg", "promoted"),
        ([ADMITTED, PROMOTED, STARTED, DISPATCHED], PROMPTS, "msg", "delivered"),
        ([ADMITTED, PromptCancelled(prompt_id="msg", reason="x")], PROMPTS, "msg", "cancelled"),
        ([STARTED, DISPATCHED], TURNS, "turn", "open"),
        ([STARTED, TurnEnded(turn_id="turn", outcome="failed")], TURNS, "turn", "ended"),
        ([QUESTION, QuestionAnswered(ask_id="ask", answers=())], ASKS, "ask", "answered"),
        ([PERMISSION, AskExpired(ask_id="ask", reason="x")], ASKS, "ask", "expired"),
        ([OPENED, ExecutionEnded(execution_id="exe", reason="x")], EXECUTIONS, "exe", "ended"),
    ],
)
def test_the_status_of_a_row_is_that_of_its_life(
    events: list[Event], lives: Lives[Any], name: str, status: str
) -> None:
    """So what is finished is passed over without being read."""
    row = _fold(*events).row(lives.table.name, (name,))

    assert row is not None
    assert row["status"] == status
    finished = {"delivered", "cancelled", "ended", "answered", "expired"}
    assert (status in lives.unfinished) is (status not in finished)


def test_one_hand_over_changes_its_turn_and_each_of_its_prompts() -> None:
    """It names all of them."""
    other = PromptAdmitted(
        **{name: getattr(ADMITTED, name) for name in ("parts", "delivery", "address", "origin")},
        prompt_id="other",
        held=False,
        rank=2,
        queue_index=1,
    )
    events = [
        ADMITTED,
        other,
        PROMOTED,
        PromptPromoted(prompt_id="other", turn_id="turn", item_id="i"),
    ]
    both = TurnDispatched(turn_id="turn", execution_id="exe", prompt_ids=("msg", "other"))

    fold = _fold(*events, STARTED, both)

    assert {_state(fold, PROMPTS, name).status for name in ("msg", "other")} == {"delivered"}
    turn = _state(fold, TURNS, "turn")
    assert (turn.prompt_ids, turn.execution_id) == (("msg", "other"), "exe")


def test_a_prompt_that_moved_is_found_in_the_other_session() -> None:
    """Its row names the queue that it stands in."""
    row = _fold(ADMITTED, PromptMoved(prompt_id="msg", to_session_id="second", rank=5)).row(
        "prompt", ("msg",)
    )

    assert row is not None
    assert (row["session_id"], row["stream"]) == ("second", "run")


def test_an_ask_that_is_asked_again_is_open_again() -> None:
    """Its call has changed, so that what was answered holds no more."""
    fold = _fold(PERMISSION, AskExpired(ask_id="ask", reason="x"), PERMISSION)

    ask = _state(fold, ASKS, "ask")
    assert (ask.status, ask.expired_because) == ("open", None)


@pytest.mark.parametrize(
    ("event", "lives", "name"),
    [
        (PromptReturned(prompt_id="msg", turn_id="turn", parts=(), rank=1), PROMPTS, "msg"),
        (DISPATCHED, TURNS, "turn"),
        (TurnRetrying(turn_id="turn", attempt=2, message="m", next_at="x"), TURNS, "turn"),
        (AskExpired(ask_id="ask", reason="x"), ASKS, "ask"),
        (ExecutionEnded(execution_id="exe", reason="x"), EXECUTIONS, "exe"),
    ],
)
def test_what_comes_about_a_life_that_never_began_writes_no_row(
    event: Event, lives: Lives[Any], name: str
) -> None:
    """A log that was cut short is still read."""
    assert _fold(event).row(lives.table.name, (name,)) is None


@pytest.mark.parametrize(("lives", "name", "event"), BEGINNINGS)
def test_the_id_of_another_run_s_life_is_taken(lives: Lives[Any], name: str, event: Event) -> None:
    """It is refused before anything is written, and a late fact leaves that life alone."""
    row = _fold(event).row(lives.table.name, (name,))
    rows = RowsInHand(TABLES)
    rows.hold(lives.table.name, (name,), row)
    fact = Fact(stream="other", version=3, created_at=START, event=event, session_id="other")
    ending = next(
        end
        for end in (
            PromptCancelled(prompt_id=name, reason="x"),
            TurnEnded(turn_id=name, outcome="failed"),
            AskExpired(ask_id=name, reason="x"),
            ExecutionEnded(execution_id=name, reason="x"),
        )
        if list(lives.keys(Fact(stream="o", version=1, created_at=0, event=end)))
    )
    late = Fact(stream="other", version=4, created_at=START, event=ending, session_id="other")

    with pytest.raises(KeyTaken):
        lives.apply(fact, rows)
    lives.apply(late, rows)

    assert rows.writes() == []


def test_a_fact_that_changes_nothing_writes_nothing() -> None:
    """A repeat of an edit costs no row."""
    row = _fold(ADMITTED).row("prompt", ("msg",))
    rows = RowsInHand(TABLES)
    rows.hold("prompt", ("msg",), row)
    edited = PromptEdited(prompt_id="msg", held=False)

    PROMPTS.apply(
        Fact(stream="run", version=4, created_at=START, event=edited, session_id="run"), rows
    )

    assert rows.writes() == []


@pytest.mark.parametrize(
    "lives", [PROMPTS, TURNS, ASKS, EXECUTIONS], ids=lambda lives: lives.table.name
)
def test_facts_about_other_things_look_at_no_row(lives: Lives[Any]) -> None:
    """A piece of text costs no look-up."""
    event = AgentSessionCreated(data={})
    fact = Fact(stream="run", version=2, created_at=START, event=event, session_id="run")

    assert list(lives.keys(fact)) == []


@pytest.mark.parametrize(("lives", "name", "event"), BEGINNINGS)
def test_a_life_of_no_session_is_none(lives: Lives[Any], name: str, event: Event) -> None:
    """An envelope that a disk has damaged names no queue to stand in."""
    rows = RowsInHand(TABLES)
    rows.hold(lives.table.name, (name,), None)

    lives.apply(Fact(stream="run", version=3, created_at=START, event=event), rows)

    assert rows.writes() == []
