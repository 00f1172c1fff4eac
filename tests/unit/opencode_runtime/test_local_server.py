"""Servers that a profile's command starts: one for each execution, and none is left."""

import asyncio
import sys
from pathlib import Path

import pytest

from spaced.errors import RuntimeProblem
from spaced.runtime.updates import ExecutionFinished
from spaced.testing.samples import next_turn
from tests.contract.opencode_harness import LocalOpenCodeHarness, opencode_profile


async def test_a_command_that_ends_is_told_with_its_last_words(tmp_path: Path) -> None:
    """A person sees what it said, and nothing of it is left."""
    agents = LocalOpenCodeHarness(tmp_path)
    command = (sys.executable, "-c", "import sys; sys.exit('cannot find my config')")
    with pytest.raises(RuntimeProblem, match=r"ended with code 1; .* cannot find my config") as no:
        await agents.open_with(opencode_profile(command=command))
    assert no.value.code == "agent-not-started"
    await agents.close()


async def test_a_command_that_never_listens_is_ended(tmp_path: Path) -> None:
    """After a minute, which here passes at once."""
    agents = LocalOpenCodeHarness(tmp_path)
    command = (sys.executable, "-c", "import threading; threading.Event().wait()")
    opening = asyncio.ensure_future(agents.open_with(opencode_profile(command=command)))
    async with asyncio.timeout(agents.patience_seconds):
        while not opening.done():
            agents.clock.advance(seconds=1)
            await next_turn()
    with pytest.raises(RuntimeProblem, match="did not listen within 60 seconds"):
        await opening
    assert not agents.processes.alive()
    await agents.close()


async def test_a_server_that_dies_is_told_with_its_exit_code(tmp_path: Path) -> None:
    """The execution is over, whatever its turn was at."""
    agents = LocalOpenCodeHarness(tmp_path)
    agent = await agents.open("crashes")
    await agent.prompt()
    ending = await agent.sink.until_one(ExecutionFinished)
    assert (ending.reason, ending.details) == ("crashed", {"exit_code": 3})
    assert ending.turn_id == "turn-1"
    await agents.close()
