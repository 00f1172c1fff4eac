"""Proves that an ask waits for one answer, takes it, and takes no other."""

import asyncio

from spaced.runtime.protocol import PermissionAnswer, QuestionAnswer
from spaced.runtime.updates import PermissionWanted, QuestionWanted
from spaced.testing.runtime_harness import OpenAgent, RuntimeHarness
from spaced.testing.runtime_topics.fixtures import RuntimeFixtures
from spaced.testing.runtime_topics.turns import assert_completed


def choose(ask: PermissionWanted, *, is_allowed: bool) -> PermissionAnswer:
    """Return the answer that allows or rejects once."""
    kind = "allow_once" if is_allowed else "reject_once"
    chosen = next(option for option in ask.options if option["kind"] == kind)
    return PermissionAnswer(option_id=str(chosen["option_id"]), is_allowed=is_allowed)


async def until_asked(agent: OpenAgent) -> PermissionWanted:
    """Start a turn and return what it asks to be allowed."""
    await agent.prompt()
    return await agent.sink.until_one(PermissionWanted)


def call_statuses(agent: OpenAgent) -> set[object]:
    """Return how the tool calls stand."""
    items = agent.sink.items().values()
    return {item.get("status") for item in items if item["type"] == "tool-call"}


class AskingPromises(RuntimeFixtures):
    """An answer reaches the agent once."""

    async def test_a_permission_waits_for_its_answer(self, agents: RuntimeHarness) -> None:
        """Nothing is done before, however long that takes."""
        agent = await agents.open("asks permission")
        ask = await until_asked(agent)
        await agents.settle()
        assert not agent.sink.ends_of("turn-1")
        assert "completed" not in call_statuses(agent)
        assert (ask.turn_id, bool(ask.tool_kind), bool(ask.tool_call)) == ("turn-1", True, True)

    async def test_an_allowed_tool_is_used(self, agents: RuntimeHarness) -> None:
        """And the turn goes on to its end."""
        agent = await agents.open("asks permission")
        ask = await until_asked(agent)
        assert await agent.connection.answer(ask.ask_id, choose(ask, is_allowed=True)) is True
        assert_completed(await agent.sink.end_of("turn-1"))
        assert call_statuses(agent) == {"completed"}

    async def test_a_rejected_tool_is_not_used(self, agents: RuntimeHarness) -> None:
        """The call is shown as failed, and the turn comes to an end."""
        agent = await agents.open("asks permission")
        ask = await until_asked(agent)
        assert await agent.connection.answer(ask.ask_id, choose(ask, is_allowed=False)) is True
        await agent.sink.end_of("turn-1")
        assert call_statuses(agent) == {"failed"}

    async def test_a_question_gets_its_answer(self, agents: RuntimeHarness) -> None:
        """What the person says reaches the agent."""
        agent = await agents.open("asks a question")
        await agent.prompt()
        ask = await agent.sink.until_one(QuestionWanted)
        answers = tuple((f"answer {number}",) for number in range(len(ask.questions)))
        assert await agent.connection.answer(ask.ask_id, QuestionAnswer(answers=answers)) is True
        assert_completed(await agent.sink.end_of("turn-1"))
        assert all(answer in agent.sink.text() for (answer,) in answers)

    async def test_an_unknown_ask_takes_no_answer(self, agents: RuntimeHarness) -> None:
        """It says so and changes nothing."""
        agent = await agents.open("asks permission")
        ask = await until_asked(agent)
        answer = choose(ask, is_allowed=True)
        assert await agent.connection.answer("an-ask-of-nobody", answer) is False
        await agents.settle()
        assert not agent.sink.ends_of("turn-1")

    async def test_a_second_answer_is_not_taken(self, agents: RuntimeHarness) -> None:
        """The first one wins, also while the agent is still chewing on it."""
        agent = await agents.open("asks permission")
        ask = await until_asked(agent)
        assert await agent.connection.answer(ask.ask_id, choose(ask, is_allowed=False)) is True
        assert await agent.connection.answer(ask.ask_id, choose(ask, is_allowed=True)) is False
        await agent.sink.end_of("turn-1")
        assert call_statuses(agent) == {"failed"}

    async def test_of_two_answers_at_once_one_is_taken(self, agents: RuntimeHarness) -> None:
        """Two clients press a button at the same moment."""
        agent = await agents.open("asks permission")
        ask = await until_asked(agent)
        answer = choose(ask, is_allowed=True)
        taken = await asyncio.gather(
            *(agent.connection.answer(ask.ask_id, answer) for _ in range(2))
        )
        assert sorted(taken) == [False, True]
        assert_completed(await agent.sink.end_of("turn-1"))

    async def test_an_ask_closes_with_its_turn(self, agents: RuntimeHarness) -> None:
        """An answer that comes after the end comes too late."""
        agent = await agents.open("asks permission")
        ask = await until_asked(agent)
        await agent.connection.answer(ask.ask_id, choose(ask, is_allowed=True))
        await agent.sink.end_of("turn-1")
        late = await agent.connection.answer(ask.ask_id, choose(ask, is_allowed=True))
        assert late is False

    async def test_an_answer_to_one_session_is_not_anothers(self, agents: RuntimeHarness) -> None:
        """The names of asks are the runtime's own, and may be alike."""
        runtime = agents.new_runtime()
        one = await agents.open("asks permission", runtime=runtime, session_id="ses-1")
        two = await agents.open("asks permission", runtime=runtime, session_id="ses-2")
        ask, other = await until_asked(one), await until_asked(two)
        await one.connection.answer(ask.ask_id, choose(ask, is_allowed=True))
        await one.sink.end_of("turn-1")
        await agents.settle()
        assert not two.sink.ends_of("turn-1")
        assert await two.connection.answer(other.ask_id, choose(other, is_allowed=True)) is True
