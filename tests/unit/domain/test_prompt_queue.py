"""Decisions on a queue: places of prompts, and which of them go next."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from spaced.domain.events.event import Event
from spaced.domain.events.prompt import PromptEdited, PromptMoved, QueueResumed
from spaced.domain.prompt import AdmittedPrompt, apply_to_prompt
from spaced.domain.prompt_queue import (
    GAP,
    choose_next,
    choose_steers,
    move,
    rank_ahead,
    rank_behind,
    release,
)
from tests.unit.domain.any_event import LAW
from tests.unit.domain.lives import parts_of, prompt

RANKS = st.lists(
    st.integers(-3, 3) | st.integers(-(2**40), 2**40) | st.sampled_from([0, GAP, 2 * GAP]),
    min_size=1,
    max_size=7,
)


def _in_order(prompts: Sequence[AdmittedPrompt]) -> list[AdmittedPrompt]:
    """Return prompts in the order in which a queue is read."""
    return sorted(prompts, key=lambda p: (p.rank, p.admission.version))


def _queue(ranks: Sequence[int]) -> list[AdmittedPrompt]:
    return _in_order([prompt(f"p{n}", rank=rank, version=n) for n, rank in enumerate(ranks, 1)])


def _ids(prompts: Sequence[AdmittedPrompt]) -> list[str]:
    return [one.id for one in prompts]


def _after(queue: Sequence[AdmittedPrompt], events: Sequence[Event]) -> list[AdmittedPrompt]:
    states = {one.id: one for one in queue}
    for event in events:
        assert isinstance(event, PromptMoved)
        states[event.prompt_id] = apply_to_prompt(states[event.prompt_id], event)
    return _in_order(list(states.values()))


@LAW
@given(ranks=RANKS, data=st.data())
def test_a_moved_prompt_stands_where_it_was_put_and_the_others_keep_their_order(
    ranks: list[int], data: st.DataObject
) -> None:
    """Whatever the ranks are, also equal and adjacent ones, and however often it is done."""
    queue = _queue(ranks)
    for _ in range(3):
        chosen = data.draw(st.sampled_from(queue))
        index = data.draw(st.integers(-2, len(queue) + 2))
        others = [one for one in _ids(queue) if one != chosen.id]

        moved = _after(queue, move(queue, chosen, to_index=index))

        place = max(0, min(index, len(others)))
        assert _ids(moved) == [*others[:place], chosen.id, *others[place:]]
        queue = moved


def test_a_prompt_that_stands_there_already_is_not_moved() -> None:
    """A repeated request records nothing."""
    queue = _queue([1, 2, 3])

    assert [move(queue, one, to_index=place) for place, one in enumerate(queue)] == [[], [], []]
    assert move(queue, queue[2], to_index=99) == []
    assert move(queue, queue[0], to_index=-1) == []


def test_a_move_between_distant_ranks_is_one_event() -> None:
    """The others are not touched as long as there is room."""
    queue = _queue([GAP, 2 * GAP, 3 * GAP])

    (event,) = move(queue, queue[2], to_index=1)

    assert event == PromptMoved(prompt_id="p3", to_session_id="ses", rank=GAP + GAP // 2)


def test_a_move_between_adjacent_ranks_makes_room_again() -> None:
    """Every prompt of the queue gets a new rank, so that the next moves are cheap."""
    queue = _queue([1, 2, 3])

    events = move(queue, queue[2], to_index=1)

    assert [(e.prompt_id, e.rank) for e in events if isinstance(e, PromptMoved)] == [
        ("p1", GAP),
        ("p3", 2 * GAP),
        ("p2", 3 * GAP),
    ]


@LAW
@given(ranks=st.lists(st.integers(-(2**40), 2**40), max_size=6))
def test_new_ranks_lie_ahead_of_and_behind_all_others(ranks: list[int]) -> None:
    """With room for other prompts in between."""
    queue = _queue(ranks)

    assert all(rank_ahead(queue) <= one.rank - GAP for one in queue)
    assert all(rank_behind(queue) >= one.rank + GAP for one in queue)
    assert rank_ahead(queue) < rank_behind(queue)


def test_a_paused_queue_gives_nothing() -> None:
    """Neither steers nor queued prompts."""
    queue = [prompt("a", delivery="steer"), prompt("b")]

    assert choose_next(queue, is_paused=True) == ()


def test_an_empty_queue_gives_nothing() -> None:
    """There is no turn without prompts."""
    assert choose_next([], is_paused=False) == ()


def test_queued_prompts_go_one_by_one() -> None:
    """Each of them is a turn of its own, the first one first."""
    queue = _queue([2, 1, 3])

    assert _ids(choose_next(queue, is_paused=False)) == ["p2"]


def test_held_prompts_are_passed_over() -> None:
    """They wait to be released, and nobody waits for them."""
    queue = [prompt("a", held=True), prompt("b", held=True, delivery="steer"), prompt("c")]

    assert _ids(choose_next(queue, is_paused=False)) == ["c"]
    assert choose_next(queue[:2], is_paused=False) == ()


def test_steers_go_together_before_queued_prompts() -> None:
    """In the order in which they were admitted, whatever their ranks."""
    steers = [
        prompt("late", delivery="steer", rank=1, version=9),
        prompt("early", delivery="steer", rank=2, version=5),
    ]

    assert _ids(choose_next([prompt("a", rank=0), *steers], is_paused=False)) == ["early", "late"]


@LAW
@given(sizes=st.lists(st.sampled_from([10, 500_000, 1_500_000, 2_000_000]), max_size=6))
def test_steers_that_do_not_fit_into_one_append_go_with_the_next(sizes: list[int]) -> None:
    """None is lost, none overtakes another, and each batch is small enough or one alone."""
    left = [
        prompt(f"p{n}", parts=parts_of("x" * size), delivery="steer", version=n)
        for n, size in enumerate(sizes)
    ]
    gone: list[str] = []
    while left:
        chosen = choose_steers(left)
        assert chosen
        weight = sum(len(str(one.parts[0]["text"])) for one in chosen)
        assert len(chosen) == 1 or weight <= 3 * 1024 * 1024
        gone += _ids(chosen)
        left = [one for one in left if one.id not in gone]

    assert gone == [f"p{n}" for n in range(len(sizes))]


def test_a_release_lets_everything_go_on() -> None:
    """What is held is released, and the queue is resumed if it was paused."""
    queue = [prompt("a", held=True), prompt("b")]
    released = PromptEdited(prompt_id="a", held=False)

    assert release(queue, is_paused=False) == [released]
    assert release(queue, is_paused=True) == [released, QueueResumed(reason="prompt")]
    assert release([], is_paused=False) == []


def test_new_ranks_leave_room_between_each_other() -> None:
    """So a prompt can be put between two that came one after the other."""
    queue: list[AdmittedPrompt] = []
    for number in range(3):
        queue.append(prompt(f"p{number}", rank=rank_behind(queue), version=number))

    assert all(b.rank - a.rank == GAP for a, b in pairwise(queue))
