"""The steps of a stop, in time."""

import asyncio

from spaced.runtime.child import Exit
from spaced.runtime.processes.stop_ladder import climb
from spaced.testing.fake_clock import FakeClock


class WatchedClock(FakeClock):
    """Tells how long it is waited for, as soon as somebody waits."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: asyncio.Queue[int] = asyncio.Queue()

    async def sleep(self, milliseconds: int) -> None:
        """Tell, and wait."""
        self.waits.put_nowait(milliseconds)
        await super().sleep(milliseconds)


class ScriptedChild:
    """Notes what is done to it, and ends at a step of the test's choice."""

    def __init__(self, ends_at: str = "kill") -> None:
        self.steps: list[str] = []
        self.has_ended = asyncio.Event()
        self._ends_at = ends_at

    def close_input(self) -> None:
        self._step("close")

    def terminate_group(self) -> None:
        self._step("terminate")

    def kill_group(self) -> None:
        self._step("kill")

    async def wait(self) -> Exit:
        await self.has_ended.wait()
        return Exit(code=0)

    def _step(self, name: str) -> None:
        self.steps.append(name)
        if name == self._ends_at:
            self.has_ended.set()


async def test_two_fifths_of_the_grace_pass_before_the_signal_and_three_after_it() -> None:
    """The whole grace is what the caller gave."""
    clock, child = WatchedClock(), ScriptedChild()
    async with asyncio.TaskGroup() as group:
        group.create_task(climb(child, 5000, clock))
        assert await clock.waits.get() == 2000
        assert child.steps == ["close"]
        clock.advance(milliseconds=2000)
        assert await clock.waits.get() == 3000
        assert child.steps == ["close", "terminate"]
        clock.advance(milliseconds=3000)

    assert child.steps == ["close", "terminate", "kill"]


async def test_a_child_that_ends_with_its_input_gets_no_signal() -> None:
    """What is left of its group does not get the rest of the grace, but is killed."""
    child = ScriptedChild(ends_at="close")
    await climb(child, 5000, FakeClock())

    assert child.steps == ["close", "kill"]


async def test_a_child_that_heeds_the_signal_is_not_waited_for_any_longer() -> None:
    """The second wait ends with the child, though the clock stands still."""
    clock, child = WatchedClock(), ScriptedChild(ends_at="terminate")
    async with asyncio.TaskGroup() as group:
        group.create_task(climb(child, 5000, clock))
        clock.advance(milliseconds=await clock.waits.get())

    assert child.steps == ["close", "terminate", "kill"]


async def test_without_grace_it_is_killed_at_once() -> None:
    """Nothing is closed or asked before, and no time passes."""
    child = ScriptedChild()
    await climb(child, 0, FakeClock())

    assert child.steps == ["kill"]


async def test_a_cancelled_stop_leaves_no_wait_behind() -> None:
    """Neither on the clock nor on the child."""
    clock, child = WatchedClock(), ScriptedChild()
    async with asyncio.TaskGroup() as group:
        stop = group.create_task(climb(child, 5000, clock))
        await clock.waits.get()
        stop.cancel()

    assert clock.sleepers == 0
    assert child.steps == ["close"]
