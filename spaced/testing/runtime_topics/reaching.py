"""Proves how a runtime tells whether an agent can be reached, and that it blocks nobody."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from spaced.errors import RuntimeProblem
from spaced.runtime.updates import ExecutionFinished, TurnFinished
from spaced.testing.recording_sink import Ending
from spaced.testing.runtime_harness import RuntimeHarness
from spaced.testing.runtime_topics.fixtures import RuntimeFixtures
from spaced.testing.runtime_topics.turns import assert_completed
from spaced.testing.samples import next_turn

_TOO_LONG_SECONDS: Final = 0.5
_ATTEMPTS: Final = 3


class _Complaints(logging.Handler):
    """Keeps what the event loop says about callbacks that took too long."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a complaint."""
        if "took" in record.getMessage():
            self.said.append(record.getMessage())


@asynccontextmanager
async def watched_loop() -> AsyncIterator[list[str]]:
    """Yield the list of what blocked the event loop for too long."""
    loop, complaints = asyncio.get_running_loop(), _Complaints()
    logger = logging.getLogger("asyncio")
    before = loop.get_debug(), loop.slow_callback_duration
    loop.set_debug(True)
    loop.slow_callback_duration = _TOO_LONG_SECONDS
    logger.addHandler(complaints)
    await next_turn()  # what runs now was begun before the loop began to look
    try:
        yield complaints.said
    finally:
        logger.removeHandler(complaints)
        loop.set_debug(before[0])
        loop.slow_callback_duration = before[1]


class ReachingPromises(RuntimeFixtures):
    """A runtime says beforehand what would not work."""

    async def test_an_agent_that_works_has_no_problem(self, agents: RuntimeHarness) -> None:
        """And asking for that leaves nothing running."""
        runtime = agents.new_runtime()
        report = await runtime.probe(agents.profile("replies"), agents.environment)
        assert report.problem is None
        assert not agents.processes.alive()

    async def test_an_agent_that_is_broken_has_a_problem(self, agents: RuntimeHarness) -> None:
        """With a code and a sentence; it is an answer and no error."""
        runtime = agents.new_runtime()
        report = await runtime.probe(agents.profile("broken"), agents.environment)
        assert report.problem is not None
        assert report.problem.code
        assert report.problem.message
        assert not agents.processes.alive()

    async def test_a_broken_agent_fails_aloud(self, agents: RuntimeHarness) -> None:
        """It cannot be opened, takes no turn, or fails it, each with a sentence; it never hangs."""
        try:
            agent = await agents.open("broken")
            await agent.prompt()
        except RuntimeProblem as problem:
            assert problem.message
            return
        problem_of_end = _problem_of(await agent.sink.end_of("turn-1"))
        assert problem_of_end

    async def test_a_runtime_that_was_not_used_closes(self, agents: RuntimeHarness) -> None:
        """Making one starts nothing, so closing it ends nothing; twice is fine."""
        runtime = agents.new_runtime()
        await runtime.close()
        await runtime.close()
        assert not agents.processes.ever

    async def test_nothing_blocks_the_event_loop(self, agents: RuntimeHarness) -> None:
        """All sessions share it."""
        for _ in range(_ATTEMPTS):
            if not (complaints := await self._blocked(agents)):
                return
        # A busy machine holds a loop up as well, but hardly each time.
        raise AssertionError(f"each time something held the event loop up: {complaints}")

    async def _blocked(self, agents: RuntimeHarness) -> list[str]:
        async with watched_loop() as complaints:
            agent = await agents.open("uses a tool")
            await agent.prompt()
            assert_completed(await agent.sink.end_of("turn-1"))
            await agent.runtime.probe(agents.profile("replies"), agents.environment)
            await agent.connection.interrupt("turn-1")
            await agent.connection.close(0)
        return complaints


def _problem_of(ending: Ending) -> object:
    match ending:
        case TurnFinished(outcome="failed", problem=problem):
            return problem
        case ExecutionFinished(problem=problem, reason=reason):
            return problem or reason
        case _:
            return None
