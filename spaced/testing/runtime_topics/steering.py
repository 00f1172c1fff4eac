"""Proves that a prompt which is handed into a turn is either taken by it or given back."""

import pytest

from spaced.testing.runtime_harness import OpenAgent, RuntimeHarness, prompt_with
from spaced.testing.runtime_topics.fixtures import RuntimeFixtures


async def steer(agent: OpenAgent, turn_id: str) -> bool:
    """Hand one more prompt into a turn."""
    return await agent.connection.steer(turn_id, (prompt_with("And this", prompt_id="msg-2"),))


class SteeringPromises(RuntimeFixtures):
    """`steer` says truly whether the running turn has taken the prompts."""

    async def test_a_running_turn_takes_a_steer(self, agents: RuntimeHarness) -> None:
        """If the agent is capable of it."""
        agent = await agents.open("hangs")
        if not agent.runtime.capabilities.steer:
            pytest.skip("this agent takes no prompts into a running turn, and says so")
        await agent.prompt()
        await agent.sink.until(bool, what="something from the agent that hangs")
        assert await steer(agent, "turn-1") is True
        assert not agent.sink.ends_of("turn-1")

    async def test_an_agent_without_steering_takes_none(self, agents: RuntimeHarness) -> None:
        """What its capabilities say is what it does."""
        agent = await agents.open("hangs")
        if agent.runtime.capabilities.steer:
            pytest.skip("this agent says that it takes prompts into a running turn")
        await agent.prompt()
        await agent.sink.until(bool, what="something from the agent that hangs")
        assert await steer(agent, "turn-1") is False

    async def test_an_idle_agent_takes_no_steer(self, agents: RuntimeHarness) -> None:
        """Neither before a turn nor after it: such a prompt is the next turn's."""
        agent = await agents.open("replies")
        assert await steer(agent, "turn-1") is False
        await agent.prompt()
        await agent.sink.end_of("turn-1")
        assert await steer(agent, "turn-1") is False
        await agents.settle()
        assert "And this" not in agent.sink.text()

    async def test_a_steer_into_another_turn_is_not_taken(self, agents: RuntimeHarness) -> None:
        """A prompt that comes too late must not slip into the turn that runs now."""
        agent = await agents.open("hangs")
        await agent.prompt(turn_id="turn-2")
        await agent.sink.until(bool, what="something from the agent that hangs")
        assert await steer(agent, "turn-1") is False

    async def test_a_steer_does_not_end_the_turn_twice(self, agents: RuntimeHarness) -> None:
        """However it is answered, the turn has one end."""
        agent = await agents.open("hangs")
        await agent.prompt()
        await agent.sink.until(bool, what="something from the agent that hangs")
        await steer(agent, "turn-1")
        await agent.connection.interrupt("turn-1")
        await agent.sink.end_of("turn-1")
        await agents.settle()
        assert len(agent.sink.ends_of("turn-1")) == 1
