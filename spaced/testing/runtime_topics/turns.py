"""Proves what becomes of a turn: handed over once, ended once, and kept apart from all others."""

import asyncio

from spaced.errors import RuntimeProblem
from spaced.runtime.protocol import Turn
from spaced.runtime.updates import ExecutionFinished, ItemUpserted, TextAppended, TurnFinished
from spaced.testing.recording_sink import Ending
from spaced.testing.runtime_harness import RuntimeHarness, prompt_with
from spaced.testing.runtime_topics.fixtures import RuntimeFixtures


def assert_completed(ending: Ending) -> None:
    """Check that a turn came to a good end."""
    assert isinstance(ending, TurnFinished), ending
    assert (ending.outcome, ending.problem) == ("completed", None)


class TurnPromises(RuntimeFixtures):
    """A turn is handed over once and ends once."""

    async def test_a_prompt_is_answered_and_its_turn_completes(
        self, agents: RuntimeHarness
    ) -> None:
        """The simplest thing that an agent does."""
        agent = await agents.open("replies")
        await agent.prompt("How are you, 42?")
        assert_completed(await agent.sink.end_of("turn-1"))
        assert "How are you, 42?" in agent.sink.text()

    async def test_every_prompt_of_a_turn_is_handed_over(self, agents: RuntimeHarness) -> None:
        """Prompts that waited together go together, in their order."""
        agent = await agents.open("replies")
        texts = ("the first of three", "the second of three", "the third of three")
        prompts = tuple(prompt_with(text, prompt_id=text[4:9]) for text in texts)
        await agent.connection.start_turn(Turn(id="turn-1", prompts=prompts))
        assert_completed(await agent.sink.end_of("turn-1"))
        places = [agent.sink.text().find(text) for text in texts]
        assert -1 not in places
        assert places == sorted(places)

    async def test_a_turn_ends_exactly_once(self, agents: RuntimeHarness) -> None:
        """A second end would release a turn that another one has taken the place of."""
        agent = await agents.open("replies")
        await agent.prompt()
        await agent.sink.end_of("turn-1")
        await agents.settle()
        assert len(agent.sink.ends_of("turn-1")) == 1

    async def test_the_end_of_a_turn_is_its_last_word(self, agents: RuntimeHarness) -> None:
        """Whatever such an agent says about its turn comes before the end."""
        agent = await agents.open("streams")
        await agent.prompt()
        await agent.sink.end_of("turn-1")
        await agents.settle()
        of_turn = [update for update in agent.sink.updates if update.turn_id == "turn-1"]
        assert isinstance(of_turn[-1], TurnFinished)

    async def test_starting_a_turn_does_not_wait_for_the_sink(self, agents: RuntimeHarness) -> None:
        """Whoever takes the reports may be the one who starts the turn."""
        agent = await agents.open("replies")
        agent.sink.hold()
        async with asyncio.timeout(agents.patience_seconds):
            await agent.prompt()
        agent.sink.release()
        assert_completed(await agent.sink.end_of("turn-1"))

    async def test_turns_follow_each_other(self, agents: RuntimeHarness) -> None:
        """An agent whose turn has ended is idle and takes the next."""
        agent = await agents.open("replies")
        for number in range(1, 5):
            await agent.prompt(f"prompt number {number}", turn_id=f"turn-{number}")
            assert_completed(await agent.sink.end_of(f"turn-{number}"))
            assert f"prompt number {number}" in agent.sink.text()
        assert len(agent.sink.of(TurnFinished)) == 4

    async def test_items_carry_their_turn(self, agents: RuntimeHarness) -> None:
        """What a turn adds to the transcript is known as its own."""
        agent = await agents.open("uses a tool")
        for turn_id in ("turn-1", "turn-2"):
            already = len(agent.sink.updates)
            await agent.prompt(turn_id=turn_id)
            await agent.sink.end_of(turn_id)
            new = agent.sink.updates[already:]
            items = [u.turn_id for u in new if isinstance(u, ItemUpserted | TextAppended)]
            assert items
            assert set(items) == {turn_id}

    async def test_items_of_two_turns_are_two(self, agents: RuntimeHarness) -> None:
        """A source names one item for a whole conversation."""
        agent = await agents.open("replies")
        await agent.prompt("Hello", turn_id="turn-1")
        await agent.sink.end_of("turn-1")
        first = set(agent.sink.items())
        already = len(agent.sink.updates)
        await agent.prompt("Hello again", turn_id="turn-2")
        await agent.sink.end_of("turn-2")
        new = agent.sink.updates[already:]
        assert not first & {u.source for u in new if isinstance(u, ItemUpserted | TextAppended)}

    async def test_a_tool_call_is_shown_with_its_result(self, agents: RuntimeHarness) -> None:
        """A person sees what was called, that it ended, and what came of it."""
        agent = await agents.open("uses a tool")
        await agent.prompt()
        assert_completed(await agent.sink.end_of("turn-1"))
        items = list(agent.sink.items().values())
        (call,) = (item for item in items if item["type"] == "tool-call")
        (result,) = (item for item in items if item["type"] == "tool-result")
        assert call["status"] == "completed"
        assert call["name"]
        assert call["call_id"] == result["call_id"]
        assert result.get("output")
        assert not result.get("is_error")

    async def test_two_sessions_do_not_mix(self, agents: RuntimeHarness) -> None:
        """Each sink gets what belongs to its own session, also at the same time."""
        runtime = agents.new_runtime()
        one = await agents.open("replies", runtime=runtime, session_id="ses-1")
        two = await agents.open("replies", runtime=runtime, session_id="ses-2")
        async with asyncio.TaskGroup() as group:
            group.create_task(one.prompt("apples and pears", turn_id="turn-1"))
            group.create_task(two.prompt("stones and sticks", turn_id="turn-2"))
        assert_completed(await one.sink.end_of("turn-1"))
        assert_completed(await two.sink.end_of("turn-2"))
        for agent, own, other in ((one, "apples", "stones"), (two, "stones", "apples")):
            assert own in agent.sink.text()
            assert other not in agent.sink.text()
        assert {update.turn_id for update in one.sink.updates} <= {"turn-1", None}
        assert {update.turn_id for update in two.sink.updates} <= {"turn-2", None}

    async def test_a_session_does_not_wait_for_another(self, agents: RuntimeHarness) -> None:
        """One that hangs holds nobody up."""
        runtime = agents.new_runtime()
        stuck = await agents.open("hangs", runtime=runtime, session_id="ses-1")
        other = await agents.open("replies", runtime=runtime, session_id="ses-2")
        await stuck.prompt(turn_id="turn-1")
        await stuck.sink.until(bool, what="something from the agent that hangs")
        await other.prompt(turn_id="turn-2")
        assert_completed(await other.sink.end_of("turn-2"))
        assert not stuck.sink.ends_of("turn-1")

    async def test_a_crash_is_reported_once_and_nothing_follows(
        self, agents: RuntimeHarness
    ) -> None:
        """An execution that ends by itself says so as its last word."""
        agent = await agents.open("crashes")
        await agent.prompt()
        await agent.sink.until_one(ExecutionFinished)
        await agents.settle()
        assert len(agent.sink.of(ExecutionFinished)) == 1
        assert isinstance(agent.sink.updates[-1], ExecutionFinished)
        assert not agent.sink.of(TurnFinished)

    async def test_an_agent_that_is_gone_takes_no_turn(self, agents: RuntimeHarness) -> None:
        """It says so with the one error that a runtime may raise, and closing it is fine."""
        agent = await agents.open("crashes")
        await agent.prompt()
        await agent.sink.until_one(ExecutionFinished)
        try:
            await agent.prompt(turn_id="turn-2")
        except RuntimeProblem as problem:
            assert problem.message
        else:
            raise AssertionError("a turn was started in an execution that has ended")
        assert await agent.connection.steer("turn-1", (prompt_with("Hello?"),)) is False
        await agent.connection.close(0)
        assert len(agent.sink.of(ExecutionFinished)) == 1
