"""Proves how a provider's conversation goes on, ends and begins anew."""

import pytest

from spaced.domain.json_values import JsonObject
from spaced.errors import RuntimeProblem
from spaced.runtime.updates import ConversationLost, ItemUpserted, TextAppended
from spaced.testing.runtime_harness import OpenAgent, RuntimeHarness
from spaced.testing.runtime_topics.fixtures import RuntimeFixtures
from spaced.testing.runtime_topics.turns import assert_completed

_OUTCOMES = {"applied", "unsupported", "failed"}


async def converse(agents: RuntimeHarness) -> tuple[OpenAgent, JsonObject]:
    """Let an agent that resumes play a turn, and return what continues its conversation."""
    agent = await agents.open("replies")
    if not agent.runtime.capabilities.resume:
        pytest.skip("this agent does not continue conversations, and says so")
    await agent.prompt()
    await agent.sink.end_of("turn-1")
    told = agent.sink.continuity()
    assert told is not None, "an agent that resumes tells what continues its conversation"
    return agent, told.continuity


class ConversationPromises(RuntimeFixtures):
    """A conversation outlives executions, until it is forgotten or lost."""

    async def test_a_conversation_goes_on_in_another_life(self, agents: RuntimeHarness) -> None:
        """A new runtime continues it from what was last told."""
        agent, continuity = await converse(agents)
        await agent.runtime.close()
        later = await agents.open("replies", continuity=continuity)
        await later.prompt("Are you still there?", turn_id="turn-2")
        assert_completed(await later.sink.end_of("turn-2"))
        assert "Are you still there?" in later.sink.text()
        assert not later.sink.of(ConversationLost)

    async def test_items_of_a_continued_conversation_are_new(self, agents: RuntimeHarness) -> None:
        """A source names one item for the whole conversation, over all executions."""
        agent, continuity = await converse(agents)
        await agent.connection.close(0)
        later = await agents.open("replies", continuity=continuity)
        await later.prompt(turn_id="turn-2")
        await later.sink.end_of("turn-2")
        of_turn = [u for u in later.sink.updates if isinstance(u, ItemUpserted | TextAppended)]
        assert not set(agent.sink.items()) & {u.source for u in of_turn}

    async def test_a_conversation_that_nobody_knows_is_lost_aloud(
        self, agents: RuntimeHarness
    ) -> None:
        """The agent says so and begins a new one, or cannot be opened; it never pretends."""
        await converse(agents)
        try:
            agent = await agents.open("replies", continuity={"no": "such conversation"})
        except RuntimeProblem as problem:
            assert problem.message
            return
        await agent.prompt(turn_id="turn-2")
        assert_completed(await agent.sink.end_of("turn-2"))
        assert len(agent.sink.of(ConversationLost)) == 1

    async def test_a_forgotten_conversation_is_followed_by_a_new_one(
        self, agents: RuntimeHarness
    ) -> None:
        """What stays the same from turn to turn of one conversation does not stay the same then."""
        agent, first = await converse(agents)
        second = await self._next_continuity(agent, "turn-2")
        await agent.connection.forget()
        third = await self._next_continuity(agent, "turn-3")
        lasting = {name: value for name, value in first.items() if second.get(name) == value}
        assert third != second
        assert not lasting or {name: third.get(name) for name in lasting} != lasting

    async def _next_continuity(self, agent: OpenAgent, turn_id: str) -> JsonObject:
        await agent.prompt(turn_id=turn_id)
        assert_completed(await agent.sink.end_of(turn_id))
        told = agent.sink.continuity()
        assert told is not None
        return told.continuity

    async def test_forgetting_before_the_first_turn_is_fine(self, agents: RuntimeHarness) -> None:
        """There is nothing to forget yet."""
        agent = await agents.open("replies")
        await agent.connection.forget()
        await agent.prompt()
        assert_completed(await agent.sink.end_of("turn-1"))

    async def test_nothing_is_found_where_nothing_was_left(self, agents: RuntimeHarness) -> None:
        """An execution that was closed, or never was, is not found again."""
        agent, continuity = await converse(agents)
        await agent.connection.close(0)
        runtime = agents.new_runtime()
        for known in (continuity, {"no": "such conversation"}):
            assert await runtime.reattach(agent.session, known, agent.sink) is None

    async def test_changes_are_answered_field_by_field(self, agents: RuntimeHarness) -> None:
        """Each with what came of it, and nothing else."""
        agent = await agents.open("replies")
        changes = {"mode": "plan", "model": "large", "options": {"no-such-option": 1}}
        report = await agent.connection.configure(changes)
        assert report.keys() == {"mode", "model", "no-such-option"}
        assert set(report.values()) <= _OUTCOMES
        assert report["no-such-option"] != "applied"
        assert await agent.connection.configure({}) == {}

    async def test_compacting_is_done_or_denied(self, agents: RuntimeHarness) -> None:
        """An agent that has no such thing says so, and one that has goes on working."""
        agent = await agents.open("replies")
        await agent.prompt()
        await agent.sink.end_of("turn-1")
        done = await agent.connection.compact()
        assert done is False or agent.runtime.capabilities.compact
        await agent.prompt(turn_id="turn-2")
        assert_completed(await agent.sink.end_of("turn-2"))
