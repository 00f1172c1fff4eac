"""A daemon that is killed anywhere forgets nothing that it accepted, and does nothing twice.

One life is run to its end to see where it can be killed: right before and right after each append,
and at every named crash point. Then it is killed at each of these places in a folder of its own,
and a later life looks after what it left. Chunks take every n-th place, so that workers share them;
a place that a run does not come to, since text was cut otherwise, is a life that ended well.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.end_to_end.sweep_life import AgentKind, Household
from tests.end_to_end.sweep_nursery import Nursery, Told, new_household, nursery
from tests.end_to_end.sweep_return import live_on

CHUNKS: Final = 4


@pytest.fixture(scope="module")
def lives() -> Iterator[Nursery]:
    """The process that forks lives, once for all tests that a worker runs."""
    with nursery() as started:
        yield started


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("agent", ["mortal", "surviving"])
def test_a_kill_at_any_place_loses_and_repeats_nothing(
    lives: Nursery, tmp_path: Path, agent: AgentKind, chunk: int
) -> None:
    """Every append and every crash point of a life with two turns, a steer, a tool and an ask."""
    whole = lives.live(new_household(tmp_path / "whole", agent), "first")
    assert len(whole.receipts) == 3
    assert len(whole.seen) > 80
    places = list(whole.seen)
    if agent == "surviving":  # before it has anything to survive with, it is as mortal as the other
        del places[: places.index("point:handed-over:1")]

    found = []
    for place in places[chunk::CHUNKS]:
        household = new_household(tmp_path / place.replace(":", "-"), agent)
        told = lives.live(household, "first", place)
        found += asyncio.run(live_on(household, [told], place))

    assert not found, "\n".join(found)


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize(
    ("agent", "first_kill"),
    [
        ("mortal", "point:steer-handed-over:1"),
        ("continuing", "point:steer-handed-over:1"),
        ("surviving", "point:answer-recorded:1"),
    ],
)
def test_a_kill_during_the_recovery_loses_and_repeats_nothing(
    lives: Nursery, tmp_path: Path, agent: AgentKind, first_kill: str, chunk: int
) -> None:
    """A life that looks after a turn that was cut short is killed in its turn."""

    def cut_short(name: str) -> tuple[Household, Told]:
        household = new_household(tmp_path / name.replace(":", "-"), agent)
        return household, lives.live(household, "first", first_kill)

    household, _ = cut_short("whole")
    whole = lives.live(household, "again")
    assert len(whole.receipts) == 5

    # Coarser than above: right after an append is nearly right before the next one, and from the
    # admission of the last prompt on there is nothing but one more turn.
    places = [place for place in whole.seen if not place.startswith("after")]
    del places[places.index("point:admitted:2") + 1 :]
    found = []
    for place in places[chunk::CHUNKS]:
        household, told = cut_short(place)
        again = lives.live(household, "again", place)
        both = f"{first_kill}, then at {place}"
        found += asyncio.run(live_on(household, [told, again], both))

    assert not found, "\n".join(found)
