"""What children start: it may go on while its execution does, and never longer."""

import os
import select
import signal
from pathlib import Path

from spaced.runtime.child import Child, Exit
from spaced.runtime.processes.process_table import ProcessTable
from spaced.runtime.processes.supervisor import ProcessSupervisor
from tests.integration.processes.programs import (
    EXECUTION,
    STUBBORN,
    Runaway,
    python,
    shell,
)

BACKGROUND = "trap '' TERM; tail -f /dev/null & echo $!"

CHAIN = """
import os, signal, sys, threading
os.open(sys.argv[1], os.O_WRONLY)
if os.fork():
    while True:
        signal.pause()
links = 0
while links < 3000 and os.fork() == 0:
    os.setsid()
    links += 1
    if links == 5:
        print("ready", flush=True)
    threading.Event().wait(0.02)
"""


def _is_running(pid: int) -> bool:
    return any(p.pid == pid and not p.is_zombie for p in ProcessTable().processes())


async def _pid_of_grandchild(child: Child) -> int:
    return int(await anext(child.lines()))


async def test_waiting_is_for_the_child_and_not_for_its_pipes(spawn: ProcessSupervisor) -> None:
    """A background process holds them open, and goes on until the stop."""
    child = await spawn(shell(f"{BACKGROUND}; exit 2"))
    grandchild = await _pid_of_grandchild(child)

    assert await child.wait() == Exit(code=2)
    assert _is_running(grandchild)
    assert await child.stop(60_000) == Exit(code=2)
    assert not _is_running(grandchild)


async def test_a_stop_ends_what_left_the_session(spawn: ProcessSupervisor, tmp_path: Path) -> None:
    """It heeds no SIGTERM, is in no group of ours, and never does what it wanted to do."""
    runaway = Runaway(tmp_path)
    child = await spawn(runaway.request())
    grandchild = await _pid_of_grandchild(child)
    assert runaway.is_there()

    await child.stop(0)

    assert not _is_running(grandchild)
    assert not runaway.is_there()
    assert not runaway.file.exists()


async def test_a_stop_ends_what_lost_its_parent_too(
    spawn: ProcessSupervisor, tmp_path: Path
) -> None:
    """Only its mark is left then to tell where it came from."""
    runaway = Runaway(tmp_path)
    child = await spawn(runaway.request(leave=True))
    await _pid_of_grandchild(child)
    assert await child.wait() == Exit(code=7)
    assert runaway.is_there()

    await child.stop(0)

    assert not runaway.is_there()


async def test_a_stop_ends_the_descendants_of_its_child_alone(
    spawn: ProcessSupervisor, tmp_path: Path
) -> None:
    """Another child of the execution, and what that one started, go on."""
    mine, other = Runaway(tmp_path, "mine"), Runaway(tmp_path, "other")
    stopped = await spawn(mine.request())
    running = await spawn(other.request())
    for child in (stopped, running):
        await _pid_of_grandchild(child)

    assert await stopped.stop(0) == Exit(signal=signal.SIGKILL)

    assert not mine.is_there()
    assert other.is_there()
    assert spawn.children_of(EXECUTION) == (running,)


async def test_an_orphan_goes_with_its_execution_at_the_latest(
    spawn: ProcessSupervisor, tmp_path: Path
) -> None:
    """While another child runs nobody can tell whose it is; the execution's end ends it."""
    runaway = Runaway(tmp_path)
    parent = await spawn(runaway.request(leave=True))
    await spawn(shell(STUBBORN))
    await _pid_of_grandchild(parent)
    await parent.wait()
    await parent.stop(0)
    assert runaway.is_there()

    await spawn.stop_execution(EXECUTION, grace_ms=0)

    assert not runaway.is_there()


async def test_an_execution_without_children_is_swept(
    spawn: ProcessSupervisor, tmp_path: Path
) -> None:
    """What its children left while others ran is found by the mark alone; others are not touched."""
    mine, other = Runaway(tmp_path, "mine"), Runaway(tmp_path, "other")
    for runaway, execution_id in ((mine, "exe_1"), (other, "exe_11")):
        parent = await spawn(runaway.request(execution_id, leave=True))
        await _pid_of_grandchild(parent)
        await parent.wait()

    await spawn.stop_execution("exe_1", grace_ms=0)
    assert not mine.is_there()
    assert other.is_there()
    await spawn.stop_execution("exe_11", grace_ms=0)
    assert not other.is_there()


async def test_a_chain_that_keeps_forking_is_ended(
    spawn: ProcessSupervisor, tmp_path: Path
) -> None:
    """Each link leaves the session, starts the next one and ends; a single look comes too late."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    child = await spawn(python(CHAIN, str(fifo)))
    assert await anext(child.lines()) == b"ready"
    await child.stop(0)

    hung_up = _is_let_go(reader)
    os.close(reader)
    assert hung_up


def _is_let_go(reader: int) -> bool:
    """Wait until no process has the other end; one that is just ending may still have it."""
    ends = select.poll()
    ends.register(reader, 0)
    return ends.poll(10_000) == [(reader, select.POLLHUP)]
