"""Proves that a close is the end: no report, no process and no task outlives it."""

import asyncio

import pytest

from spaced.errors import RuntimeProblem
from spaced.runtime.protocol import PermissionAnswer, Turn
from spaced.testing.runtime_harness import Behaviour, OpenAgent, RuntimeHarness, prompt_with
from spaced.testing.runtime_topics.asking import choose, until_asked
from spaced.testing.runtime_topics.fixtures import RuntimeFixtures
from spaced.testing.runtime_topics.interrupting import start_hanging
from spaced.testing.runtime_topics.turns import assert_completed


async def assert_silent(agents: RuntimeHarness, agent: OpenAgent) -> None:
    """Check that nothing is reported any more, and that no process is left."""
    assert not agents.processes.alive()
    said, begun = list(agent.sink.updates), agent.sink.begun
    agent.sink.release()
    await agents.settle()
    assert (agent.sink.updates, agent.sink.begun) == (said, begun)


class ClosingPromises(RuntimeFixtures):
    """Once `close` has returned, the execution is over."""

    async def test_a_close_during_a_turn_is_its_end(self, agents: RuntimeHarness) -> None:
        """The turn's end is the execution's; nothing is reported of it later."""
        agent = await agents.open("hangs")
        await start_hanging(agent)
        await agent.connection.close(0)
        await assert_silent(agents, agent)

    async def test_a_close_with_grace_is_its_end_too(self, agents: RuntimeHarness) -> None:
        """The agent gets its time, and no more than that."""
        agent = await agents.open("hangs")
        await start_hanging(agent)
        async with asyncio.timeout(agents.patience_seconds):
            await agent.connection.close(3000)
        await assert_silent(agents, agent)

    async def test_a_close_while_the_sink_is_slow_is_the_end(self, agents: RuntimeHarness) -> None:
        """An update that was not taken by then is never taken."""
        agent = await agents.open("streams")
        agent.sink.hold()
        await agent.prompt()
        await agent.sink.until_begun(1)
        async with asyncio.timeout(agents.patience_seconds):
            await agent.connection.close(0)
        await assert_silent(agents, agent)

    async def test_a_close_after_a_turn_leaves_nothing(self, agents: RuntimeHarness) -> None:
        """What tools have started is gone with the execution."""
        agent = await agents.open("uses a tool")
        await agent.prompt()
        await agent.sink.end_of("turn-1")
        await agent.connection.close(0)
        await assert_silent(agents, agent)

    async def test_closing_twice_is_fine(self, agents: RuntimeHarness) -> None:
        """The second call finds nothing to do."""
        agent = await agents.open("replies")
        await agent.prompt()
        await agent.sink.end_of("turn-1")
        await agent.connection.close(1000)
        await agent.connection.close(0)
        await assert_silent(agents, agent)

    async def test_a_close_while_it_is_closing_is_fine(self, agents: RuntimeHarness) -> None:
        """Whoever loses patience closes again without grace, and both return."""
        await self._close_twice_at_once(agents, "hangs")

    async def test_an_agent_that_refuses_is_closed_by_impatience(
        self, agents: RuntimeHarness
    ) -> None:
        """The second close does not wait for the grace of the first."""
        await self._close_twice_at_once(agents, "refuses to stop")

    async def _close_twice_at_once(self, agents: RuntimeHarness, behaviour: Behaviour) -> None:
        agent = await agents.open(behaviour)
        await start_hanging(agent)
        async with asyncio.timeout(agents.patience_seconds), asyncio.TaskGroup() as group:
            group.create_task(agent.connection.close(3_600_000))
            group.create_task(agent.connection.close(0))
        await assert_silent(agents, agent)

    async def test_a_closed_agent_takes_nothing_more(self, agents: RuntimeHarness) -> None:
        """A turn is refused with the one error that a runtime may raise, the rest with false."""
        agent = await agents.open("asks permission")
        ask = await until_asked(agent)
        await agent.connection.close(0)
        with pytest.raises(RuntimeProblem):
            await agent.prompt(turn_id="turn-2")
        assert await agent.connection.steer("turn-1", (prompt_with("Hello?"),)) is False
        assert await agent.connection.answer(ask.ask_id, choose(ask, is_allowed=True)) is False
        await agent.connection.interrupt("turn-1")
        await assert_silent(agents, agent)

    async def test_a_close_against_a_start_leaves_nothing(self, agents: RuntimeHarness) -> None:
        """The turn is started or refused, and either way it is over."""
        agent = await agents.open("hangs")
        turn = Turn(id="turn-1", prompts=(prompt_with("Hello"),))
        async with asyncio.timeout(agents.patience_seconds):
            started, closed = await asyncio.gather(
                agent.connection.start_turn(turn), agent.connection.close(0), return_exceptions=True
            )
        assert started is None or isinstance(started, RuntimeProblem), started
        assert closed is None
        await assert_silent(agents, agent)

    async def test_closing_one_session_leaves_the_others(self, agents: RuntimeHarness) -> None:
        """A runtime serves many."""
        runtime = agents.new_runtime()
        one = await agents.open("hangs", runtime=runtime, session_id="ses-1")
        two = await agents.open("asks permission", runtime=runtime, session_id="ses-2")
        await start_hanging(one)
        ask = await until_asked(two)
        await one.connection.close(0)
        allowed = PermissionAnswer(
            option_id=choose(ask, is_allowed=True).option_id, is_allowed=True
        )
        assert await two.connection.answer(ask.ask_id, allowed) is True
        assert_completed(await two.sink.end_of("turn-1"))

    async def test_closing_the_runtime_lets_go_of_everything(self, agents: RuntimeHarness) -> None:
        """Twice is fine; no connection reports and no process runs after that."""
        runtime = agents.new_runtime()
        one = await agents.open("hangs", runtime=runtime, session_id="ses-1")
        two = await agents.open("hangs", runtime=runtime, session_id="ses-2")
        await start_hanging(one)
        await start_hanging(two)
        await runtime.close()
        await runtime.close()
        await assert_silent(agents, one)
        await assert_silent(agents, two)
        await one.connection.close(0)
