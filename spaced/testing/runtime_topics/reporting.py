"""Proves how updates come: one after the other, whole, in order, and never faster than taken."""

from spaced.runtime.updates import TextAppended
from spaced.testing.runtime_harness import STREAMED, RuntimeHarness
from spaced.testing.runtime_topics.fixtures import RuntimeFixtures
from spaced.testing.runtime_topics.turns import assert_completed


class ReportingPromises(RuntimeFixtures):
    """A sink gets every update once, in order."""

    async def test_streamed_text_arrives_whole_and_in_order(self, agents: RuntimeHarness) -> None:
        """The pieces put together are what the agent said."""
        agent = await agents.open("streams")
        await agent.prompt()
        assert_completed(await agent.sink.end_of("turn-1"))
        assert agent.sink.text() == STREAMED

    async def test_a_text_that_streams_comes_in_pieces(self, agents: RuntimeHarness) -> None:
        """People see it grow."""
        agent = await agents.open("streams")
        await agent.prompt()
        await agent.sink.end_of("turn-1")
        assert len(agent.sink.of(TextAppended)) >= 3

    async def test_updates_are_reported_one_after_the_other(self, agents: RuntimeHarness) -> None:
        """Two at once could be taken in either order."""
        agent = await agents.open("streams")
        await agent.prompt()
        await agent.sink.end_of("turn-1")
        await agents.settle()
        assert agent.sink.at_once == 1

    async def test_the_next_update_waits_until_the_last_was_taken(
        self, agents: RuntimeHarness
    ) -> None:
        """So a flood waits in the agent instead of filling the daemon's memory."""
        agent = await agents.open("streams")
        before = list(agent.sink.updates)
        agent.sink.hold()
        await agent.prompt()
        await agent.sink.until_begun(1)
        await agents.settle()
        assert agent.sink.begun == 1
        assert agent.sink.updates == before
        agent.sink.release()
        await agent.sink.end_of("turn-1")

    async def test_a_sink_that_was_slow_lacks_nothing(self, agents: RuntimeHarness) -> None:
        """What waited comes in its order."""
        agent = await agents.open("streams")
        agent.sink.hold()
        await agent.prompt()
        await agent.sink.until_begun(1)
        await agents.settle()
        agent.sink.release()
        assert_completed(await agent.sink.end_of("turn-1"))
        assert agent.sink.text() == STREAMED
        assert agent.sink.at_once == 1

    async def test_a_slow_sink_holds_up_only_its_own_session(self, agents: RuntimeHarness) -> None:
        """One session's full disk is not everybody's."""
        runtime = agents.new_runtime()
        slow = await agents.open("streams", runtime=runtime, session_id="ses-1")
        other = await agents.open("streams", runtime=runtime, session_id="ses-2")
        before = list(slow.sink.updates)
        slow.sink.hold()
        await slow.prompt(turn_id="turn-1")
        await slow.sink.until_begun(1)
        await other.prompt(turn_id="turn-2")
        assert_completed(await other.sink.end_of("turn-2"))
        assert slow.sink.updates == before
        slow.sink.release()
        assert_completed(await slow.sink.end_of("turn-1"))
