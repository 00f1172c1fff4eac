"""What goes through the pipes of a child: any bytes, any amount, in order."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from spaced.errors import ChildGone, LineTooLong
from spaced.runtime.child import Child, Exit
from spaced.runtime.processes.supervisor import ProcessSupervisor
from tests.integration.processes.programs import python, shell

FLOOD = """
import os, sys
block = b"".join(b"%07d\\n" % number for number in range(8192))
for _ in range(160):
    os.write(2, block)
os.write(2, "the end \\u2713".encode())
print("done", flush=True)
sys.stdin.read()
"""
FILL = """
import os, select
os.set_blocking(1, False)
written = 0
while written < 5_000_000 and select.select([], [1], [], 0.2)[1]:
    written += os.write(1, bytes(4096))
os.write(2, b"%d" % written)
"""


async def _lines(child: Child) -> list[bytes]:
    return [line async for line in child.lines()]


async def test_lines_go_in_and_out(spawn: ProcessSupervisor) -> None:
    """A conversation, line by line; what follows the last line end is a line too."""
    child = await spawn(shell('while read line; do echo "<$line>"; done; printf rest'))
    lines = child.lines()
    for word in (b"one", b"two"):
        await child.write(word + b"\n")
        assert await anext(lines) == b"<" + word + b">"
    child.close_input()
    child.close_input()

    assert [line async for line in lines] == [b"rest"]
    assert await child.wait() == Exit(code=0)


@pytest.mark.parametrize("size", [200_000, 20_000_000])
async def test_a_huge_line_arrives_whole(spawn: ProcessSupervisor, size: int) -> None:
    """A tool's output of many megabytes is one line; both directions at once."""
    child = await spawn(shell("cat"))
    line = bytes(range(11, 256)) * (size // 245)

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(_lines(child))
        await child.write(line + b"\nshort\n")
        child.close_input()

    assert reading.result() == [line, b"short"]


async def test_a_line_over_the_limit_fails_after_those_before_it(spawn: ProcessSupervisor) -> None:
    """Memory has an end; the child can be stopped as always."""
    child = await spawn(shell("echo good; cat /dev/zero", line_limit=1_000_000))
    lines = child.lines()

    assert await anext(lines) == b"good"
    with pytest.raises(LineTooLong, match="1000000"):
        await anext(lines)
    assert await child.stop(0) == Exit(signal=signal.SIGKILL)


async def test_chunks_are_the_bytes_as_they_come(spawn: ProcessSupervisor) -> None:
    """Garbage is none of the supervisor's business."""
    garbage = bytes(range(256)) * 1000
    child = await spawn(shell("cat"))
    async with asyncio.TaskGroup() as group:
        group.create_task(child.write(garbage))
        received = b""
        async for chunk in child.chunks():
            received += chunk
            if len(received) == len(garbage):
                child.close_input()

    assert received == garbage


async def test_error_output_is_drained_and_its_end_kept(spawn: ProcessSupervisor) -> None:
    """Ten megabytes that nobody asked for block nothing; what is no text is replaced."""
    child = await spawn(python(FLOOD))
    assert await anext(child.lines()) == b"done"
    await child.stop(0)

    errors = child.error_output()
    assert errors.endswith("0008190\n0008191\nthe end ✓")
    assert len(errors.encode()) == 64 * 1024


async def test_error_output_is_complete_when_the_end_is_known(spawn: ProcessSupervisor) -> None:
    """Its last words are the reason for its end."""
    child = await spawn(shell(r"printf 'bad \377 luck' >&2; exit 3"))

    assert await child.wait() == Exit(code=3)
    assert child.error_output() == "bad \ufffd luck"


async def test_output_that_nobody_takes_is_not_read_without_end(
    spawn: ProcessSupervisor,
) -> None:
    """The child finds its pipe full after our share, and all of it can be read later."""
    child = await spawn(python(FILL))
    await child.wait()
    written = int(child.error_output())
    received = [len(chunk) async for chunk in child.chunks()]

    assert sum(received) == written < 500_000


async def test_reading_makes_room_for_more(spawn: ProcessSupervisor) -> None:
    """However often the share was full."""
    child = await spawn(shell("head -c 5000000 /dev/zero; echo over >&2"))
    received = [len(chunk) async for chunk in child.chunks()]
    await child.wait()

    assert sum(received) == 5_000_000
    assert child.error_output() == "over\n"


async def test_a_reader_that_is_cancelled_loses_nothing(spawn: ProcessSupervisor) -> None:
    """The next one goes on in the middle of the line."""
    child = await spawn(shell("printf one; read line; echo two; cat"))
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(_lines(child))
        await child.write(b"\n")
        reading.cancel()
    child.close_input()

    assert await _lines(child) == [b"onetwo"]


async def test_writing_to_a_closed_pipe_tells_that_the_child_is_gone(
    spawn: ProcessSupervisor,
) -> None:
    """Whether it has ended, or just reads no more."""
    child = await spawn(shell("exec <&-; echo closed; exec tail -f /dev/null"))
    await anext(child.lines())
    with pytest.raises(ChildGone, match="'/bin/sh'"):
        await child.write(b"hello")
    await child.stop(0)

    with pytest.raises(ChildGone):
        await child.write(b"hello")


async def test_a_writer_that_waits_is_told_when_the_child_is_stopped(
    spawn: ProcessSupervisor,
) -> None:
    """A full pipe must not hold anybody for ever."""
    child = await spawn(shell("exec tail -f /dev/null"))

    async def write() -> str:
        try:
            await child.write(b"x" * 1_000_000)
        except ChildGone:
            return "gone"
        return "written"

    async with asyncio.TaskGroup() as group:
        writing = group.create_task(write())
        await child.stop(0)

    assert writing.result() == "gone"


async def test_a_cancelled_writer_spoils_no_message(
    spawn: ProcessSupervisor, tmp_path: Path
) -> None:
    """What was begun is finished, and what follows comes behind it."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    child = await spawn(shell('echo ready; read line < "$1"; cat', str(gate)))
    await anext(child.lines())
    async with asyncio.TaskGroup() as group:
        first = group.create_task(child.write(b"a" * 500_000 + b"\n"))
        second = group.create_task(child.write(b"second\n"))
        reading = group.create_task(_lines(child))
        opened = await asyncio.to_thread(os.open, gate, os.O_WRONLY)
        first.cancel()
        os.write(opened, b"\n")
        os.close(opened)
        await second
        child.close_input()

    assert reading.result() == [b"a" * 500_000, b"second"]


async def test_what_was_written_before_a_stop_can_still_be_read(
    spawn: ProcessSupervisor,
) -> None:
    """The last words of an agent are often the interesting ones."""
    child = await spawn(shell("read line; echo end"))
    await child.stop(60_000)

    assert await _lines(child) == [b"end"]
