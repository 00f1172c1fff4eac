"""The same promises where the system has no `/proc`: groups, parents and recorded numbers."""

import asyncio
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from spaced.clock import SystemClock
from spaced.runtime.child import Exit
from spaced.runtime.processes.facts import ProcessFacts
from spaced.runtime.processes.process_table import ProcessTable
from spaced.runtime.processes.supervisor import ProcessSupervisor
from tests.integration.processes.programs import EXECUTION, STUBBORN, Runaway, shell
from tests.integration.processes.records import RecordsInMemory


@pytest.fixture
def table(tmp_path: Path) -> ProcessTable:
    """What is known about processes without `/proc`."""
    if shutil.which("ps") is None:
        pytest.skip("`ps` is missing; the Debian package procps has it")
    return ProcessTable(tmp_path / "proc")


@pytest.fixture
async def spawn(
    owner: str, records: RecordsInMemory, table: ProcessTable
) -> AsyncIterator[ProcessSupervisor]:
    """A supervisor that has no `/proc`."""
    async with ProcessSupervisor(SystemClock(), owner, records, table=table) as supervisor:
        yield supervisor


async def test_a_child_runs_and_ends(spawn: ProcessSupervisor) -> None:
    """A thread waits for it instead of a descriptor."""
    child = await spawn(shell("read line; exit 3"))
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(child.wait())
        child.close_input()

    assert waiting.result() == Exit(code=3)


async def test_a_stop_ends_the_group_after_its_leader(spawn: ProcessSupervisor) -> None:
    """The number of the group is the child's until it is released."""
    child = await spawn(shell("tail -f /dev/null & echo $!; exit 2"))
    grandchild = int(await anext(child.lines()))
    assert await child.wait() == Exit(code=2)
    await child.stop(0)

    running = [p.pid for p in ProcessTable().processes() if not p.is_zombie]
    assert grandchild not in running


async def test_a_stop_ends_what_left_the_session(spawn: ProcessSupervisor, tmp_path: Path) -> None:
    """Parents tell where it came from."""
    runaway = Runaway(tmp_path)
    child = await spawn(runaway.request())
    await anext(child.lines())
    assert runaway.is_there()
    await child.stop(0)

    assert not runaway.is_there()


async def test_executions_are_stopped(spawn: ProcessSupervisor) -> None:
    """With and without children."""
    child = await spawn(shell(STUBBORN))
    for _ in range(2):
        await spawn.stop_execution(EXECUTION, grace_ms=0)

    assert await child.wait() == Exit(signal=signal.SIGKILL)


@pytest.mark.parametrize(("started", "killed"), [(None, 1), ("Thu Jan  1 00:00:00 1970", 0)])
async def test_a_recorded_process_is_killed_if_it_is_the_same(
    stranger: subprocess.Popen[bytes],
    owner: str,
    table: ProcessTable,
    started: str | None,
    killed: int,
) -> None:
    """There are no marks, and no boot has a name; a start time is a whole date."""
    facts = ProcessFacts(
        pid=stranger.pid,
        started=started or table.started(stranger.pid) or "",
        boot_id=table.boot_id(),
        execution_id=EXECUTION,
        marker=f"{owner}/{EXECUTION}",
        command="/bin/sh",
    )
    clock, records = SystemClock(), RecordsInMemory(facts)
    async with ProcessSupervisor(clock, owner, records, table=table) as spawn:
        assert await spawn.kill_left_over() == killed
