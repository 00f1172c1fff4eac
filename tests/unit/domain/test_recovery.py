"""What a restart records: everything is closed, no text is lost, and agents are told to go on."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.domain.ask import apply_to_ask
from spaced.domain.events.event import Event
from spaced.domain.events.prompt import PromptAdmitted, PromptPromoted
from spaced.domain.events.transcript import AgentItemAppended, AgentItemTextAppended
from spaced.domain.events.turn import TurnEnded
from spaced.domain.execution import apply_to_execution
from spaced.domain.json_values import JsonObject
from spaced.domain.prompt import apply_to_prompt
from spaced.domain.recovery import (
    GO_ON,
    MOST_IN_A_ROW,
    LeftOver,
    Tail,
    abandon,
    give_back,
    go_on,
    tail_events,
)
from spaced.domain.session import apply_to_session
from spaced.domain.session_items import INTERRUPTED_RESULT, ITEM_TYPES, is_open
from spaced.domain.transcript import Transcript
from spaced.domain.turn import apply_to_turn
from tests.unit.domain.any_event import LAW
from tests.unit.domain.lives import execution, permission, prompt, question, session, turn

NOW = "2026-12-01T09:30:00.000Z"
PROMOTED = apply_to_prompt(prompt(), PromptPromoted(prompt_id="msg", turn_id="turn", item_id="i"))
DISPATCHED = turn(execution_id="exe", attempts=1)
CALL = {"id": "c", "type": "tool-call", "call_id": "1", "name": "ls", "status": "running"}

ITEMS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(ITEM_TYPES)},
        optional={
            "call_id": st.sampled_from(["1", "2", None]),
            "name": st.just("ls"),
            "turn_id": st.just("turn"),
            "content": st.sampled_from(["", "abc"]),
            "stream_status": st.sampled_from(["streaming", "complete"]),
            "status": st.sampled_from(["pending", "running", "completed", "failed"]),
        },
    ),
    max_size=5,
).map(lambda items: [{**item, "id": f"i{place}"} for place, item in enumerate(items)])


def _ids() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"new-{next(numbers)}"


def _left(**fields: Any) -> LeftOver:
    nothing: dict[str, Any] = dict.fromkeys(
        ("promoted", "executions", "asks", "items", "tails"), ()
    )
    return LeftOver(**({"session": session(), "turn": None, **nothing} | fields))


def _abandoned(left: LeftOver) -> list[Event]:
    return abandon(left, new_item_id=_ids(), created_at=NOW)


def _transcript(items: Sequence[dict[str, Any]], events: Sequence[Event]) -> Transcript:
    transcript = Transcript()
    for event in [*(AgentItemAppended(item=item) for item in items), *events]:
        transcript.apply(event)
    return transcript


@LAW
@given(
    stored=st.none() | st.text("abc", max_size=6),
    offset=st.integers(0, 8),
    text=st.text("xyz", max_size=6),
)
def test_of_a_tail_only_what_lies_beyond_the_stored_text_is_added(
    stored: str | None, offset: int, text: str
) -> None:
    """It may be older than the log; one that leaves a gap is no continuation."""
    item: dict[str, Any] = {"id": "i", "type": "message"}
    if stored is not None:
        item["content"] = stored
    before = stored or ""

    events = tail_events([item], [Tail(item_id="i", field="content", offset=offset, text=text)])

    transcript = _transcript([item], events)
    after = (transcript.item("i") or {}).get("content") or ""
    is_continuation = offset <= len(before)
    assert after == before + (text[len(before) - offset :] if is_continuation else "")
    assert transcript.misplaced_texts == 0
    assert len(events) == (after != before)


def test_a_tail_of_an_item_that_is_not_open_is_left_alone() -> None:
    """Its item was closed with its whole text."""
    assert tail_events([], [Tail(item_id="gone", field="content", offset=0, text="x")]) == []


def test_tails_of_several_fields_each_continue_their_own() -> None:
    """A result's output and a message's content do not meet."""
    items: list[JsonObject] = [{"id": "a", "content": "ab"}, {"id": "b", "output": 5}]
    tails = [
        Tail(item_id="a", field="content", offset=1, text="bc"),
        Tail(item_id="b", field="output", offset=0, text="x"),
    ]

    assert tail_events(items, tails) == [
        AgentItemTextAppended(item_id="a", field="content", offset=2, text="c"),
        AgentItemTextAppended(item_id="b", field="output", offset=0, text="x"),
    ]


@LAW
@given(items=ITEMS, is_dispatched=st.booleans(), has_turn=st.booleans())
def test_what_nobody_goes_on_with_is_closed(
    items: list[dict[str, Any]], is_dispatched: bool, has_turn: bool
) -> None:
    """Items, the turn, its prompts and asks, executions: nothing is left open."""
    open_turn = (DISPATCHED if is_dispatched else turn()) if has_turn else None
    left = _left(
        turn=open_turn,
        promoted=[PROMOTED] if has_turn else [],
        executions=[execution("exe"), execution("exe-2")],
        asks=[permission(), question()] if has_turn else [permission()],
        items=items,
    )

    events = _abandoned(left)

    for event in events:
        left = replace(
            left,
            session=apply_to_session(left.session, event, created_at=1),
            turn=left.turn and apply_to_turn(left.turn, event, created_at=1),
            promoted=[apply_to_prompt(p, event) for p in left.promoted],
            executions=[
                apply_to_execution(e, event) if getattr(event, "execution_id", e.id) == e.id else e
                for e in left.executions
            ],
            asks=[
                apply_to_ask(a, event) if getattr(event, "ask_id", "") == a.id else a
                for a in left.asks
            ],
        )
    assert not any(map(is_open, _transcript(items, events).items()))
    assert left.turn is None or left.turn.status == "ended"
    assert left.session.status == ("idle" if has_turn else "running")
    assert {p.status for p in left.promoted} <= {"pending"}
    assert {e.status for e in left.executions} == {"ended"}
    assert {a.status for a in left.asks} == {"expired"}


@pytest.mark.parametrize(
    ("left", "outcome", "code"),
    [(DISPATCHED, "abandoned", "restarted"), (turn(), "not-dispatched", None)],
    ids=["handed over", "not handed over"],
)
def test_a_turn_is_abandoned_only_if_its_agent_may_have_had_the_prompts(
    left: Any, outcome: str, code: str | None
) -> None:
    """Then a person is told; otherwise nothing was lost."""
    events = _abandoned(_left(turn=left))

    ended = next(event for event in events if isinstance(event, TurnEnded))
    notices = [event.item for event in events if isinstance(event, AgentItemAppended)]
    assert (ended.outcome, ended.problem and ended.problem.code) == (outcome, code)
    assert [(item["type"], item["code"], item["turn_id"]) for item in notices] == (
        [("error", "restarted", "turn")] if code else []
    )


def test_a_call_that_was_cut_off_gets_a_result_that_says_so() -> None:
    """A transcript never has a call without a result."""
    transcript = _transcript([CALL], _abandoned(_left(items=[CALL], turn=None)))

    call, result = transcript.items()
    assert call["status"] == "interrupted"
    assert result == {
        "id": "new-1",
        "type": "tool-result",
        "call_id": "1",
        "name": "ls",
        "output": INTERRUPTED_RESULT,
        "is_error": True,
        "created_at": NOW,
    }


def test_a_call_that_has_its_result_already_gets_no_second_one() -> None:
    """Only its own end was missing."""
    items = [CALL, {"id": "r", "type": "tool-result", "call_id": "1"}]

    assert len(_transcript(items, _abandoned(_left(items=items)))) == 2


def test_the_texts_of_tails_are_stored_before_their_items_are_closed() -> None:
    """An item is found by its whole text once it is complete."""
    item = {"id": "m", "type": "message", "content": "a", "stream_status": "streaming"}
    tail = Tail(item_id="m", field="content", offset=1, text="b")

    events = _abandoned(_left(items=[item], tails=[tail]))

    assert [event.kind for event in events] == ["agent-item-text-appended", "agent-item-updated"]


def test_a_question_of_a_turn_that_was_completed_stays_open() -> None:
    """Its answer comes as a prompt, whoever runs then."""
    left = _left(asks=[question(turn_id="earlier")])

    assert _abandoned(left) == []
    assert [e.kind for e in _abandoned(replace(left, turn=turn()))] == [
        *("turn-ended", "agent-status-changed")
    ]


def test_a_turn_that_no_agent_was_given_gives_its_prompts_back() -> None:
    """They are pending again, and the turn says that it was not handed over."""
    returned, ended, idle = give_back(turn(), session(), [PROMOTED])

    assert apply_to_prompt(PROMOTED, returned).status == "pending"
    assert isinstance(ended, TurnEnded)
    assert ended.outcome == "not-dispatched"
    assert idle.kind == "agent-status-changed"


def test_an_agent_is_told_to_go_on_before_everything_that_waits() -> None:
    """As a prompt of ours in the same session."""
    (told,) = go_on(session(), [prompt(rank=-3)], prompt_id="new")

    assert isinstance(told, PromptAdmitted)
    assert told.parts == ({"type": "text", "text": GO_ON},)
    assert (told.origin, told.delivery, told.held, told.queue_index) == (
        *("recovery", "queue", False, 0),
    )
    assert told.rank < -3


@pytest.mark.parametrize(
    "fields",
    [{"continued_in_a_row": MOST_IN_A_ROW}, {"is_queue_paused": True}],
    ids=["it has not helped before", "the queue is paused"],
)
def test_an_agent_is_not_told_to_go_on_for_ever(fields: dict[str, Any]) -> None:
    """A turn that ends the daemon would end it again and again."""
    assert go_on(session(**fields), [], prompt_id="new") == []


def test_a_session_counts_how_often_it_was_told_to_go_on() -> None:
    """Each one counts until a turn is completed or a person prompts."""
    state = session()
    for _ in range(MOST_IN_A_ROW):
        (told,) = go_on(state, [], prompt_id="new")
        state = apply_to_session(state, told, created_at=1)

    assert go_on(state, [], prompt_id="new") == []
