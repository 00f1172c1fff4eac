"""Tools that really run: nothing of them outlives an interrupt, a deletion or a crash."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from spaced.clock import SystemClock
from spaced.domain.events.turn import TurnEnded
from spaced.runtime.processes.marker import VARIABLE, marker_of
from spaced.testing.samples import next_turn
from tests.integration.engine.house import House, Houses, gate

STUBBORN = """
trap '' TERM
setsid /bin/sh -c 'trap "" TERM HUP INT; echo ready; read line < fifo; touch finished' &
wait
"""
GRACE_MS = 200


def _tool(script: str = STUBBORN) -> dict[str, Any]:
    return {"do": "tool", "name": "sh", "kind": "execute", "command": ["/bin/sh", "-c", script]}


@pytest.fixture
async def real_house(houses: Houses) -> House:
    """An engine by the machine's clock: processes do not wait for a fake one."""
    return await houses.open(
        clock=SystemClock(), environment=dict(os.environ), cancel_grace_ms=GRACE_MS
    )


async def _begin(house: House) -> str:
    fifo = house.workplace / "fifo"
    if not fifo.exists():
        os.mkfifo(fifo)
    chat = await house.chat([_tool()], [{"do": "echo"}], cancel_grace_ms=GRACE_MS)
    await house.send(chat, "go")
    await _wait_for_output(house, chat)
    return chat


async def _wait_for_output(house: House, chat: str) -> None:
    """Wait until the grandchild is there and has printed something."""
    async with asyncio.timeout(10):
        while not any(item.get("output") for item in await house.items(chat)):
            await next_turn()


def _is_gone(house: House) -> bool:
    """Tell whether nobody waits to finish the side effect, and that it was not finished."""
    try:
        fd = os.open(house.workplace / "fifo", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return not (house.workplace / "finished").exists()
    os.close(fd)
    return False


async def test_an_interrupt_ends_a_grandchild_that_refuses(real_house: House) -> None:
    """It has its own session and ignores SIGTERM; it is gone and finishes nothing."""
    chat = await _begin(real_house)

    await real_house.engine.control.interrupt(chat)
    await real_house.idle(chat)

    (end,) = await real_house.found(chat, TurnEnded)
    assert end.outcome == "interrupted"
    assert _is_gone(real_house)
    await real_house.turn(chat, "next")
    assert (await real_house.texts(chat))[-1] == "assistant: next"


async def test_a_second_interrupt_ends_it_too(real_house: House) -> None:
    """At once, without the grace."""
    chat = await _begin(real_house)

    await real_house.engine.control.interrupt(chat)
    await real_house.engine.control.interrupt(chat)
    await real_house.idle(chat)

    assert _is_gone(real_house)


async def test_a_deletion_ends_it_too(real_house: House) -> None:
    """When the command returns nothing is left."""
    chat = await _begin(real_house)

    await real_house.engine.deletions.delete(chat, force=True)

    assert _is_gone(real_house)
    assert (await real_house.storage.list_rows("process")).rows == []


async def test_a_stop_ends_it_too(houses: Houses) -> None:
    """The daemon leaves nothing behind."""
    house = await houses.open(clock=SystemClock(), environment=dict(os.environ), stop_grace_ms=50)
    chat = await _begin(house)

    await house.engine.stop()

    (end,) = await house.found(chat, TurnEnded)
    assert end.outcome == "daemon-stopped"
    assert _is_gone(house)


async def test_processes_are_recorded_while_they_run(real_house: House) -> None:
    """With what it takes to find them again, and without their arguments."""
    chat = await _begin(real_house)

    (row,) = (await real_house.storage.list_rows("process")).rows

    assert row["command"] == "/bin/sh"
    os.kill(int(row["pid"] or 0), 0)  # raises if there is no such process
    await real_house.engine.control.interrupt(chat)
    await real_house.idle(chat)
    assert (await real_house.storage.list_rows("process")).rows == []


async def test_a_tools_environment_is_chosen(houses: Houses) -> None:
    """What a profile does not name is not seen; the session's own names are."""
    environment = {"PATH": os.environ["PATH"], "SECRET": "s3cret", "WANTED": "yes"}
    house = await houses.open(clock=SystemClock(), environment=environment)
    script = 'echo "$SECRET-$WANTED-$SPACED_SESSION_ID"'
    chat = await house.chat([_tool(script)], environment=("WANTED",))

    await house.turn(chat)

    (result,) = [i for i in await house.items(chat) if i["type"] == "tool-result"]
    assert result["output"] == f"-yes-{chat}\n"


async def test_a_tool_that_fails_says_so(real_house: House) -> None:
    """Its result is an error and the turn goes on."""
    chat = await real_house.chat([_tool("echo no; exit 3")])

    await real_house.turn(chat)

    (result,) = [i for i in await real_house.items(chat) if i["type"] == "tool-result"]
    assert (result["is_error"], "no" in str(result["output"])) == (True, True)


async def test_what_a_dead_daemon_left_is_killed_and_counted(houses: Houses) -> None:
    """Also of an agent whose runtime looks for it first, and does not find it."""
    house = await houses.open()
    chat = await house.chat([gate()])
    await house.send(chat, "go")
    await house.reached()
    live = house.engine.executions.live(chat)
    assert live is not None
    mark = marker_of(house.storage.log_id, live.id)
    orphan = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, env={VARIABLE: mark})  # noqa: ASYNC220
    await asyncio.to_thread(_until_it_runs, orphan.pid)

    house = await houses.crash(house)

    assert house.recovered.killed == 1
    assert await asyncio.to_thread(orphan.wait, 10) == -signal.SIGKILL
    assert orphan.stdin is not None
    orphan.stdin.close()


def _until_it_runs(pid: int) -> None:
    """While a program is being loaded its environment is empty."""
    while VARIABLE.encode() not in Path(f"/proc/{pid}/environ").read_bytes():
        pass
