"""What a child gets, what is recorded of it, and what is refused."""

import asyncio
import os
from pathlib import Path

import pytest

from spaced.clock import SystemClock
from spaced.errors import SpawnRefused, StorageFull
from spaced.runtime.child import ChildRequest, Exit
from spaced.runtime.processes.process_table import ProcessTable
from spaced.runtime.processes.supervisor import ProcessSupervisor
from tests.integration.processes.programs import EXECUTION, STUBBORN, python, shell
from tests.integration.processes.records import RecordsInMemory

LOOK_AROUND = """
import os, sys
print(sorted(os.environb.items()), os.getcwd(), os.getsid(0) == os.getpid() == os.getpgid(0))
print(sorted(int(fd) for fd in os.listdir("/dev/fd"))[:3], len(os.listdir("/dev/fd")) - 1)
"""


async def test_a_child_sees_its_environment_and_the_mark_and_nothing_else(
    spawn: ProcessSupervisor, owner: str, tmp_path: Path
) -> None:
    """Nothing of the daemon's variables, folder, session or descriptors reaches it."""
    inherited = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(inherited, True)
    request = python(LOOK_AROUND)
    child = await spawn(
        ChildRequest(
            execution_id=request.execution_id,
            command=request.command,
            directory=str(tmp_path),
            environment={"A": "1", "LC_ALL": "C.UTF-8"},
        )
    )
    lines = [line.decode() async for line in child.lines()]
    os.close(inherited)

    variables = {b"A": b"1", b"LC_ALL": b"C.UTF-8", b"SPACED_MARKER": f"{owner}/exe_1".encode()}
    assert lines == [f"{sorted(variables.items())} {tmp_path} True", "[0, 1, 2] 3"]


async def test_the_mark_of_an_outer_daemon_stays_in_front(
    spawn: ProcessSupervisor, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So whoever stops the agent that started us finds what we started."""
    monkeypatch.setenv("SPACED_MARKER", "outer/exe_9")
    child = await spawn(shell('echo "$SPACED_MARKER"'))

    assert [line async for line in child.lines()] == [f"outer/exe_9 {owner}/exe_1".encode()]


async def test_a_child_is_recorded_without_its_arguments(
    spawn: ProcessSupervisor, owner: str, records: RecordsInMemory
) -> None:
    """The facts tell it from any other process, and hold no secret."""
    child = await spawn(shell("read line", "--token=secret"))
    facts = records.kept[0]

    assert facts.pid == child.pid
    assert facts.started == ProcessTable().started(child.pid)
    assert facts.boot_id == ProcessTable().boot_id()
    assert (facts.execution_id, facts.marker) == (EXECUTION, f"{owner}/exe_1")
    assert facts.command == "/bin/sh"


async def test_a_child_that_cannot_be_recorded_is_killed(
    spawn: ProcessSupervisor, records: RecordsInMemory
) -> None:
    """A process that a later life would not find must not run."""
    records.is_full = True
    with pytest.raises(StorageFull):
        await spawn(shell(STUBBORN))

    assert spawn.children_of(EXECUTION) == ()


async def test_a_spawn_that_is_cancelled_while_recording_leaves_nothing(
    owner: str, tmp_path: Path
) -> None:
    """Nobody got the child, so nobody could stop it."""
    is_recording = asyncio.Event()

    class SlowRecords(RecordsInMemory):
        async def started(self, facts: object) -> None:
            is_recording.set()
            await asyncio.Event().wait()

    async with ProcessSupervisor(SystemClock(), owner, SlowRecords()) as spawn:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(spawn(shell(STUBBORN)))
            await is_recording.wait()
            assert len(spawn.children_of(EXECUTION)) == 1
            task.cancel()

        assert spawn.children_of(EXECUTION) == ()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ((), "a command needs a program"),
        (("sh", "-c", "true"), "the program 'sh' is not given by its absolute path"),
        (("/nowhere/sh",), "the program '/nowhere/sh' does not exist"),
        (("/bin",), "the program '/bin' does not exist"),
        (("/etc/passwd",), "the file '/etc/passwd' is not executable"),
        (("/bin/sh", "a\0b"), "'/bin/sh' cannot be started: its arguments or its environment"),
        (("/bin/sh", "a" * 4_000_000), "'/bin/sh' cannot be started: Argument list too long"),
    ],
    ids=["none", "relative", "missing", "folder", "not executable", "NUL", "too long"],
)
async def test_a_command_that_cannot_run_is_refused(
    spawn: ProcessSupervisor, command: tuple[str, ...], message: str
) -> None:
    """One sentence names what is in the way."""
    request = ChildRequest(execution_id=EXECUTION, command=command, directory="/")
    with pytest.raises(SpawnRefused) as refused:
        await spawn(request)

    assert refused.value.message.startswith(message)
    assert len(refused.value.message) < 120


async def test_a_folder_that_does_not_exist_is_refused(
    spawn: ProcessSupervisor, tmp_path: Path
) -> None:
    """The program is not to blame, and a file is no folder."""
    (tmp_path / "file").touch()
    for name in ("missing", "file"):
        with pytest.raises(SpawnRefused, match=f"the folder '.*/{name}' does not exist"):
            await spawn(shell("true", directory=str(tmp_path / name)))


async def test_a_script_without_its_interpreter_is_refused(
    spawn: ProcessSupervisor, tmp_path: Path
) -> None:
    """The system tells that only when it is started."""
    script = tmp_path / "agent"
    script.write_text("#!/nowhere/python\n")
    script.chmod(0o755)
    request = ChildRequest(execution_id=EXECUTION, command=(str(script),), directory="/")
    with pytest.raises(SpawnRefused, match="agent' cannot be started: No such file"):
        await spawn(request)


async def test_nothing_is_started_after_the_end(spawn: ProcessSupervisor) -> None:
    """A late start would outlive the daemon."""
    await spawn.close()
    with pytest.raises(SpawnRefused, match="stopping"):
        await spawn(shell("true"))


async def test_fifty_children_run_at_once(spawn: ProcessSupervisor) -> None:
    """Each has its own pipes and its own end."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(spawn(shell('read line; echo "$1 $line"; exit "$1"', str(number))))
            for number in range(50)
        ]
    children = [task.result() for task in tasks]
    assert set(spawn.children_of(EXECUTION)) == set(children)
    for child in children:
        await child.write(b"hello\n")
    outputs = [[line async for line in child.lines()] for child in children]
    exits = [await child.wait() for child in children]

    assert outputs == [[f"{number} hello".encode()] for number in range(50)]
    assert exits == [Exit(code=number) for number in range(50)]
    assert spawn.children_of(EXECUTION) == ()
