"""Proves that an interrupt ends the turn it names, once, and nothing else."""

import asyncio

from spaced.runtime.protocol import PermissionAnswer
from spaced.runtime.updates import ItemUpserted, PermissionWanted, TextAppended, TurnFinished
from spaced.testing.recording_sink import Ending
from spaced.testing.runtime_harness import OpenAgent, RuntimeHarness
from spaced.testing.runtime_topics.fixtures import RuntimeFixtures
from spaced.testing.runtime_topics.turns import assert_completed


def assert_interrupted(ending: Ending) -> None:
    """Check that a turn was ended by an interrupt."""
    assert isinstance(ending, TurnFinished), ending
    assert ending.outcome == "interrupted"


async def start_hanging(agent: OpenAgent, turn_id: str = "turn-1") -> None:
    """Start a turn and return when the agent is at it."""
    already = len(agent.sink.updates)
    await agent.prompt(turn_id=turn_id)
    # An item, and not just any update: what continues the conversation may be told before it.
    await agent.sink.until(
        lambda updates: any(isinstance(u, ItemUpserted | TextAppended) for u in updates[already:]),
        what="the agent to begin",
    )


class InterruptingPromises(RuntimeFixtures):
    """After an interrupt the turn ends soon, and the agent is idle."""

    async def test_an_interrupt_ends_the_turn(self, agents: RuntimeHarness) -> None:
        """Its end is reported as always, with the outcome that it came to."""
        agent = await agents.open("hangs")
        await start_hanging(agent)
        await agent.connection.interrupt("turn-1")
        assert_interrupted(await agent.sink.end_of("turn-1"))

    async def test_an_interrupted_turn_ends_exactly_once(self, agents: RuntimeHarness) -> None:
        """Two interrupts ask for the same thing."""
        agent = await agents.open("hangs")
        await start_hanging(agent)
        await agent.connection.interrupt("turn-1")
        await agent.connection.interrupt("turn-1")
        await agent.sink.end_of("turn-1")
        await agent.connection.interrupt("turn-1")
        await agents.settle()
        assert len(agent.sink.ends_of("turn-1")) == 1

    async def test_an_interrupted_agent_takes_another_turn(self, agents: RuntimeHarness) -> None:
        """It is idle then, and the same agent still."""
        agent = await agents.open("hangs")
        for turn_id in ("turn-1", "turn-2"):
            await start_hanging(agent, turn_id)
            await agent.connection.interrupt(turn_id)
            assert_interrupted(await agent.sink.end_of(turn_id))

    async def test_an_interrupt_right_after_the_start_is_not_lost(
        self, agents: RuntimeHarness
    ) -> None:
        """The turn has begun as soon as it was handed over."""
        agent = await agents.open("hangs")
        await agent.prompt()
        await agent.connection.interrupt("turn-1")
        assert_interrupted(await agent.sink.end_of("turn-1"))

    async def test_an_interrupt_of_an_idle_agent_is_harmless(self, agents: RuntimeHarness) -> None:
        """It comes when the turn has just ended, or has not begun."""
        agent = await agents.open("replies")
        await agent.connection.interrupt("turn-1")
        await agent.prompt()
        assert_completed(await agent.sink.end_of("turn-1"))
        await agent.connection.interrupt("turn-1")
        await agent.prompt(turn_id="turn-2")
        assert_completed(await agent.sink.end_of("turn-2"))

    async def test_an_interrupt_of_another_turn_ends_nothing(self, agents: RuntimeHarness) -> None:
        """One that comes late must not end the turn that runs now."""
        agent = await agents.open("asks permission")
        await agent.prompt(turn_id="turn-2")
        ask = await agent.sink.until_one(PermissionWanted)
        await agent.connection.interrupt("turn-1")
        await agents.settle()
        assert not agent.sink.ends_of("turn-2")
        answer = PermissionAnswer(option_id=str(ask.options[0]["option_id"]), is_allowed=True)
        assert await agent.connection.answer(ask.ask_id, answer) is True
        assert_completed(await agent.sink.end_of("turn-2"))

    async def test_an_interrupt_against_the_natural_end_leaves_one_end(
        self, agents: RuntimeHarness
    ) -> None:
        """Whichever comes first, wherever the other is by then."""
        agent = await agents.open("replies")
        for number in range(12):
            turn_id, before = f"turn-{number}", agent.sink.begun
            await agent.prompt(turn_id=turn_id)
            if number % 3:  # a message and an end are two reports at least
                await agent.sink.until_begun(before + number % 3)
            await agent.connection.interrupt(turn_id)
            await agent.sink.end_of(turn_id)
        await agents.settle()
        counts = [len(agent.sink.ends_of(f"turn-{number}")) for number in range(12)]
        assert counts == [1] * 12

    async def test_an_interrupt_does_not_wait_for_the_sink(self, agents: RuntimeHarness) -> None:
        """It asks, and the end is reported when there is room for it."""
        agent = await agents.open("streams")
        agent.sink.hold()
        await agent.prompt()
        await agent.sink.until_begun(1)
        async with asyncio.timeout(agents.patience_seconds):
            await agent.connection.interrupt("turn-1")
        agent.sink.release()
        await agent.sink.end_of("turn-1")
        assert agent.sink.at_once == 1

    async def test_an_interrupt_ends_an_ask(self, agents: RuntimeHarness) -> None:
        """Nobody waits for its answer any more."""
        agent = await agents.open("asks permission")
        await agent.prompt()
        ask = await agent.sink.until_one(PermissionWanted)
        await agent.connection.interrupt("turn-1")
        assert_interrupted(await agent.sink.end_of("turn-1"))
        answer = PermissionAnswer(option_id=str(ask.options[0]["option_id"]), is_allowed=True)
        assert await agent.connection.answer(ask.ask_id, answer) is False

    async def test_an_agent_that_refuses_is_ended_by_closing(self, agents: RuntimeHarness) -> None:
        """An interrupt of it returns and does nothing; a close with no grace does."""
        agent = await agents.open("refuses to stop")
        await start_hanging(agent)
        await agent.connection.interrupt("turn-1")
        await agents.settle()
        assert not agent.sink.of(TurnFinished)
        await agent.connection.close(0)
        assert not agents.processes.alive()
