"""A daemon that was killed leaves processes; the next one finds them all, and nobody else's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spaced.clock import SystemClock
from spaced.runtime.processes.facts import ProcessFacts
from spaced.runtime.processes.process_table import Process, ProcessTable
from spaced.runtime.processes.supervisor import ProcessSupervisor
from tests.integration.processes.programs import STUBBORN, Runaway, shell
from tests.integration.processes.records import RecordsInFolder, RecordsInMemory

REPOSITORY = Path(__file__).parents[3]
TABLE = ProcessTable()


def _facts(pid: int, *, started: str | None = None, boot_id: str | None = None) -> ProcessFacts:
    return ProcessFacts(
        pid=pid,
        started=started or TABLE.started(pid) or "",
        boot_id=boot_id or TABLE.boot_id(),
        execution_id="exe_1",
        marker="log/exe_1",
        command="/bin/sh",
    )


def _running(owner: str) -> list[Process]:
    return [
        process
        for process in TABLE.processes()
        if any(mark.startswith(f"{owner}/") for mark in process.marks) and not process.is_zombie
    ]


def _written(folder: Path) -> list[Path]:
    return list(folder.glob("*.written"))


def _kill_a_daemon(owner: str, folder: Path) -> None:
    daemon = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.processes.daemon_process", owner, str(folder)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
    )
    with daemon:
        assert daemon.stdout is not None
        told = daemon.stdout.readline()
        daemon.kill()
    assert told == b"ready\n"


async def test_what_a_killed_daemon_left_is_ended_but_for_what_goes_on(
    owner: str, tmp_path: Path
) -> None:
    """Runaways too; and its records go with it."""
    _kill_a_daemon(owner, tmp_path)
    records = RecordsInFolder(tmp_path / "records")
    assert len(_running(owner)) == 6
    async with ProcessSupervisor(SystemClock(), owner, records) as spawn:
        assert await spawn.kill_left_over(keep=["exe_kept"]) == 3

        assert {mark for p in _running(owner) for mark in p.marks} == {f"{owner}/exe_kept"}
        assert len(_running(owner)) == 3
        assert {facts.execution_id for facts in await records.left_over()} == {"exe_kept"}

        assert await spawn.kill_left_over() == 3
        assert await spawn.kill_left_over() == 0
    assert _running(owner) == []
    assert await records.left_over() == []
    assert not _written(tmp_path)


async def test_children_of_this_life_are_not_left_over(spawn: ProcessSupervisor) -> None:
    """They carry the same owner's mark."""
    child = await spawn(shell(STUBBORN))

    assert await spawn.kill_left_over() == 0
    assert spawn.children_of("exe_1") == (child,)


async def test_another_owners_processes_are_not_touched(owner: str, tmp_path: Path) -> None:
    """Daemons of two data directories run side by side, also if a name begins like another."""
    runaway = Runaway(tmp_path)
    async with ProcessSupervisor(SystemClock(), f"{owner}-2", RecordsInMemory()) as other:
        child = await other(runaway.request(leave=True))
        await anext(child.lines())
        await child.wait()
        async with ProcessSupervisor(SystemClock(), owner, RecordsInMemory()) as spawn:
            assert await spawn.kill_left_over() == 0
        assert runaway.is_there()


async def test_a_recorded_process_is_killed_without_a_mark(
    stranger: subprocess.Popen[bytes], owner: str
) -> None:
    """A program may wipe its environment; its number and its start still tell who it is."""
    records = RecordsInMemory(_facts(stranger.pid))
    async with ProcessSupervisor(SystemClock(), owner, records) as spawn:
        assert await spawn.kill_left_over() == 1

    assert stranger.wait() == -9
    assert records.kept == []


@pytest.mark.parametrize(("started", "boot_id"), [("1", None), (None, "another")])
async def test_a_number_that_means_another_process_now_is_left_alone(
    stranger: subprocess.Popen[bytes], owner: str, started: str | None, boot_id: str | None
) -> None:
    """Not even our own process is safe from a record that names its number."""
    pids = (stranger.pid, os.getpid())
    records = RecordsInMemory(*(_facts(p, started=started, boot_id=boot_id) for p in pids))
    async with ProcessSupervisor(SystemClock(), owner, records) as spawn:
        assert await spawn.kill_left_over() == 0

    assert stranger.poll() is None
    assert records.kept == []


async def test_a_daemon_never_kills_itself(owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent of an earlier life may have started it, and may have left it its mark and more."""
    monkeypatch.setenv("SPACED_MARKER", f"{owner}/exe_1")
    records = RecordsInMemory(_facts(os.getpid()))
    async with ProcessSupervisor(SystemClock(), owner, records) as spawn:
        child = await spawn(shell(STUBBORN, execution_id="exe_2"))
        await spawn.stop_execution("exe_1", grace_ms=0)

        assert await spawn.kill_left_over() == 0
        assert spawn.children_of("exe_2") == (child,)
