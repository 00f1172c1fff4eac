"""The bound on running turns: never more than there are places, and first come, first served."""

import asyncio

import pytest

from spaced.engine.turns.slots import TurnSlots
from spaced.testing.samples import next_turn


async def _asking(slots: TurnSlots, count: int) -> list[asyncio.Task[None]]:
    """Let some ask for a place, one after the other."""
    tasks = []
    for _ in range(count):
        tasks.append(asyncio.ensure_future(slots.take()))
        await next_turn()
    return tasks


def _served(tasks: list[asyncio.Task[None]]) -> list[bool]:
    return [task.done() and not task.cancelled() for task in tasks]


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_there_are_as_many_places_as_were_said() -> None:
    """Whoever is over waits, visibly."""
    slots = TurnSlots(2)

    tasks = await _asking(slots, 3)

    assert _served(tasks) == [True, True, False]
    assert not slots.take_now()
    await _end(tasks)


async def test_a_place_goes_to_who_asked_first() -> None:
    """One after the other."""
    slots = TurnSlots(1)
    tasks = await _asking(slots, 3)

    slots.give_back()
    await next_turn()
    assert _served(tasks) == [True, True, False]

    slots.give_back()
    await next_turn()
    assert _served(tasks) == [True, True, True]


async def test_a_place_that_nobody_waits_for_is_free() -> None:
    """It can be taken without waiting."""
    slots = TurnSlots(1)
    assert slots.take_now()
    assert not slots.take_now()

    slots.give_back()
    assert slots.take_now()


async def test_nobody_overtakes_those_who_wait() -> None:
    """A place that was given away is not free in between."""
    slots = TurnSlots(1)
    tasks = await _asking(slots, 2)

    slots.give_back()

    assert not slots.take_now()
    await tasks[1]


async def test_who_gives_up_waiting_is_passed_over() -> None:
    """The place goes to the next one."""
    slots = TurnSlots(1)
    tasks = await _asking(slots, 3)
    tasks[1].cancel()
    await next_turn()

    slots.give_back()
    await tasks[2]

    assert tasks[1].cancelled()


async def test_a_place_given_to_who_gives_up_just_then_is_not_lost() -> None:
    """It goes on to the next one, or is free."""
    slots = TurnSlots(1)
    tasks = await _asking(slots, 3)

    slots.give_back()
    tasks[1].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[1]
    await tasks[2]

    slots.give_back()
    assert slots.take_now()
