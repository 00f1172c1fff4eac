"""How a child is ended, and that each who waits for it gets to know."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from spaced.clock import SystemClock
from spaced.runtime.child import Child, Exit
from spaced.runtime.processes.supervisor import ProcessSupervisor
from spaced.testing.fake_clock import FakeClock
from tests.integration.processes.programs import EXECUTION, STUBBORN, python, shell
from tests.integration.processes.records import RecordsInMemory

KILLED = Exit(signal=signal.SIGKILL)
TERMINATED = Exit(signal=signal.SIGTERM)
COUNTING = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("ready", flush=True)
while signal.sigwait([signal.SIGTERM]):
    print("SIGTERM", flush=True)
"""


class WatchedClock(FakeClock):
    """Tells how long it is waited for, as soon as somebody waits."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: asyncio.Queue[int] = asyncio.Queue()

    async def sleep(self, milliseconds: int) -> None:
        self.waits.put_nowait(milliseconds)
        await super().sleep(milliseconds)


async def _ready(spawn: ProcessSupervisor, script: str, execution_id: str = EXECUTION) -> Child:
    child = await spawn(shell(script, execution_id=execution_id))
    assert await anext(child.lines()) == b"ready"
    return child


async def test_a_child_that_heeds_nothing_is_killed_when_the_grace_is_over(owner: str) -> None:
    """Two fifths of it pass before SIGTERM, the rest before SIGKILL."""
    clock, records = WatchedClock(), RecordsInMemory()
    async with ProcessSupervisor(clock, owner, records) as spawn, asyncio.TaskGroup() as group:
        child = await _ready(spawn, STUBBORN)
        stop = group.create_task(child.stop(5000))
        for wait in (2000, 3000):
            assert await clock.waits.get() == wait
            assert spawn.children_of(EXECUTION) == (child,)
            clock.advance(milliseconds=wait)
        assert await stop == KILLED

    assert records.kept == []
    assert clock.sleepers == 0


@pytest.mark.parametrize(
    ("script", "ended"),
    [
        ("echo ready; read line; exit 4", Exit(code=4)),
        ("echo ready; exec tail -f /dev/null", TERMINATED),
        ("trap 'exit 5' TERM; echo ready; while :; do read line; done", Exit(code=5)),
    ],
    ids=["end of input", "signal", "trapped signal"],
)
async def test_a_child_may_end_by_itself_within_the_grace(
    owner: str, script: str, ended: Exit
) -> None:
    """Its own way to end is what is told."""
    clock = WatchedClock()
    async with (
        ProcessSupervisor(clock, owner, RecordsInMemory()) as spawn,
        asyncio.TaskGroup() as group,
    ):
        child = await _ready(spawn, script)
        stop = group.create_task(child.stop(5000))
        await clock.waits.get()
        if ended != Exit(code=4):
            clock.advance(milliseconds=2000)

        assert await stop == ended


async def test_without_grace_a_child_is_killed_at_once(spawn: ProcessSupervisor) -> None:
    """It does not get the chance to end by itself."""
    child = await _ready(spawn, "trap 'exit 1' TERM; echo ready; read line; exit 1")

    assert await child.stop(0) == KILLED


async def test_stops_at_the_same_time_share_their_steps(owner: str) -> None:
    """Both return when it is gone; SIGTERM came once."""
    clock = WatchedClock()
    async with (
        ProcessSupervisor(clock, owner, RecordsInMemory()) as spawn,
        asyncio.TaskGroup() as group,
    ):
        child = await spawn(python(COUNTING))
        lines = child.lines()
        assert await anext(lines) == b"ready"
        stops = [group.create_task(child.stop(5000)) for _ in range(2)]
        assert [await clock.waits.get(), await clock.waits.get()] == [2000, 2000]
        clock.advance(milliseconds=2000)
        assert [await clock.waits.get(), await clock.waits.get()] == [3000, 3000]
        assert await anext(lines) == b"SIGTERM"
        clock.advance(milliseconds=3000)

        assert [await stop for stop in stops] == [KILLED, KILLED]
        assert [line async for line in lines] == []


async def test_an_impatient_stop_ends_a_patient_one(owner: str) -> None:
    """The daemon's end does not wait for somebody's grace."""
    clock = WatchedClock()
    async with (
        ProcessSupervisor(clock, owner, RecordsInMemory()) as spawn,
        asyncio.TaskGroup() as group,
    ):
        child = await _ready(spawn, STUBBORN)
        patient = group.create_task(child.stop(60_000))
        await clock.waits.get()

        assert await child.stop(0) == KILLED
        assert await patient == KILLED


async def test_stopping_after_the_end_tells_how_it_ended(spawn: ProcessSupervisor) -> None:
    """As often as one likes, whatever the grace."""
    child = await spawn(shell("exit 3"))
    await child.wait()

    for grace_ms in (0, 60_000, 0):
        assert await child.stop(grace_ms) == Exit(code=3)


async def test_a_cancelled_waiter_breaks_no_other_one(spawn: ProcessSupervisor) -> None:
    """Neither one that waits nor one that stops."""
    child = await _ready(spawn, "echo ready; read line; exit 6")
    async with asyncio.TaskGroup() as group:
        cancelled = [group.create_task(child.wait()), group.create_task(child.wait())]
        waiting = group.create_task(child.wait())
        await asyncio.to_thread(os.getpid)  # so that all of them have begun
        for task in cancelled:
            task.cancel()
        await child.write(b"\n")

    assert waiting.result() == Exit(code=6)


async def test_a_cancelled_stop_leaves_the_others_to_it(owner: str) -> None:
    """And if there are none, the child is still there to be stopped again."""
    clock = WatchedClock()
    async with ProcessSupervisor(clock, owner, RecordsInMemory()) as spawn:
        child = await _ready(spawn, STUBBORN)
        async with asyncio.TaskGroup() as group:
            cancelled = group.create_task(child.stop(5000))
            await clock.waits.get()
            cancelled.cancel()

        assert spawn.children_of(EXECUTION) == (child,)
        assert await child.stop(0) == KILLED


async def test_an_execution_ends_with_all_its_children_and_no_others(
    spawn: ProcessSupervisor, records: RecordsInMemory
) -> None:
    """Twice at the same time, and again, and where there is nothing to end."""
    mine = [await _ready(spawn, STUBBORN, "exe_mine") for _ in range(3)]
    other = await _ready(spawn, STUBBORN, "exe_other")
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(spawn.stop_execution("exe_mine", grace_ms=0))
    await spawn.stop_execution("exe_mine", grace_ms=0)
    await spawn.stop_execution("exe_never", grace_ms=60_000)

    assert [await child.wait() for child in mine] == [KILLED] * 3
    assert spawn.children_of("exe_mine") == ()
    assert spawn.children_of("exe_other") == (other,)
    assert [facts.pid for facts in records.kept] == [other.pid]


async def test_closing_kills_every_child(owner: str, tmp_path: Path) -> None:
    """At once, and closing twice is fine."""
    records = RecordsInMemory()
    spawn = ProcessSupervisor(SystemClock(), owner, records)
    children = [await _ready(spawn, STUBBORN, f"exe_{number}") for number in range(3)]
    await spawn.close()
    await spawn.close()

    assert [await child.wait() for child in children] == [KILLED] * 3
    assert records.kept == []
