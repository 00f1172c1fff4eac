"""Turns that go on while the daemon is down, as its next life finds them."""

from spaced.runtime.protocol import PermissionAnswer, QuestionAnswer
from spaced.runtime.updates import ItemUpserted, PermissionWanted, QuestionWanted, TextAppended
from spaced.testing.runtime_harness import prompt_with
from tests.contract.opencode_harness import PROGRAM, opencode_profile
from tests.contract.opencode_server import FakeOpenCode
from tests.unit.opencode_runtime.by_hand import Sessions, code_of, finished


async def test_what_happened_meanwhile_comes_whole_and_the_turn_goes_on(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """A tool that ended, a text that ended, and one that is still being said."""
    agent, run = await sessions.begin_turn()
    run.say("Before. ")
    await agent.sink.until_one(TextAppended)
    looking = sessions.find_again(agent)
    run.end_text()
    part = run.begin_tool("bash", {"command": "make"})
    run.end_tool(part, "made")
    run.say("Mean")
    later = await looking
    assert later is not None
    await sessions.until(lambda: bool(later.sink.text("tool-result", "output")))
    run.say("while.")
    run.end_text()
    run.over.set()
    assert finished(await sessions.end_in_time(later)).outcome == "completed"
    assert later.sink.text() == "Before. Meanwhile."
    assert later.sink.text("tool-result", "output") == "made"
    assert {u.turn_id for u in later.sink.of(ItemUpserted)} == {"turn-1"}
    assert len(server.asked("POST", "/prompt_async")) == 1


async def test_a_turn_that_has_ended_meanwhile_is_told_with_its_end(sessions: Sessions) -> None:
    """Nobody else would ever hear of it."""
    agent, run = await sessions.begin_turn()
    run.say("Said to nobody.")
    run.end_text()
    looking = sessions.find_again(agent)
    run.over.set()
    later = await looking
    assert later is not None
    assert finished(await sessions.end_in_time(later)).outcome == "completed"
    assert later.sink.text() == "Said to nobody."


async def test_open_asks_are_told_again_and_take_their_answers(sessions: Sessions) -> None:
    """The daemon's next life knows nothing of what the agent waits for."""
    agent = await sessions.begin("asks permission")
    await agent.prompt()
    asked = await agent.sink.until_one(PermissionWanted)
    later = await sessions.find_again(agent)
    assert later is not None
    again = await later.sink.until_one(PermissionWanted)
    assert (again.ask_id, again.turn_id) == (asked.ask_id, "turn-1")
    answer = PermissionAnswer(option_id="once", is_allowed=True)
    assert await later.connection.answer(again.ask_id, answer)
    assert finished(await sessions.end_in_time(later)).outcome == "completed"


async def test_an_open_question_is_told_again(sessions: Sessions) -> None:
    """Questions wait like permissions do."""
    agent = await sessions.begin("asks a question")
    await agent.prompt()
    await agent.sink.until_one(QuestionWanted)
    later = await sessions.find_again(agent)
    assert later is not None
    ask = await later.sink.until_one(QuestionWanted)
    assert await later.connection.answer(ask.ask_id, QuestionAnswer(answers=(("blue",),)))
    assert finished(await sessions.end_in_time(later)).outcome == "completed"
    assert "blue" in later.sink.text()


async def test_a_turn_that_was_found_can_be_interrupted(sessions: Sessions) -> None:
    """It is a turn like any other."""
    agent, run = await sessions.begin_turn()
    run.say("At it.")
    later = await sessions.find_again(agent)
    assert later is not None
    await later.connection.interrupt("turn-1")
    assert finished(await sessions.end_in_time(later)).outcome == "interrupted"
    assert later.sink.text() == "At it."


async def test_a_steer_from_before_belongs_to_the_turn_that_was_found(sessions: Sessions) -> None:
    """Its answer is waited for, and it is not shown as somebody else's."""
    agent, run = await sessions.begin_turn()
    assert await agent.connection.steer("turn-1", (prompt_with("And this", prompt_id="msg-2"),))
    await sessions.until(lambda: bool(run.steered))
    later = await sessions.find_again(agent)
    assert later is not None
    run.over.set()
    assert finished(await sessions.end_in_time(later)).outcome == "completed"
    roles = [item.get("role") for item in later.sink.items().values()]
    assert roles == ["assistant"]
    assert "And this" in later.sink.text()


async def test_a_turn_that_the_server_never_got_is_not_found(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The daemon gives its prompts back."""
    agent = await sessions.begin()
    server.on_prompt = "cut-before"
    await agent.prompt()
    assert await sessions.find_again(agent) is None


async def test_another_turn_is_not_the_one_that_is_looked_for(sessions: Sessions) -> None:
    """One whose end was told before is no longer waited for."""
    agent, _ = await sessions.begin_turn()
    assert await sessions.find_again(agent, "turn-2") is None


async def test_a_session_that_is_gone_is_not_found(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """Somebody has deleted it meanwhile."""
    agent = await sessions.begin()
    server.delete(server.only_session())
    assert await sessions.find_again(agent) is None


async def test_a_server_of_our_own_is_not_looked_for(sessions: Sessions) -> None:
    """It has ended with the daemon that had started it."""
    session = sessions.session_for(opencode_profile(command=PROGRAM))
    runtime = sessions.new_runtime()
    sink = (await sessions.begin()).sink
    assert await runtime.reattach(session, {"id": "ses_1"}, sink, "turn-1") is None
    assert not sessions.processes.ever


async def test_a_server_that_starts_as_we_do_is_waited_for(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """After a restart of the whole machine it may be up a moment later."""
    agent, run = await sessions.begin_turn()
    run.say("Still here.")
    await server.leave()
    looking = sessions.find_again(agent)
    await sessions.until(lambda: not agent.connection._agent.feed.is_connected)  # type: ignore[attr-defined]
    await server.start()
    later = await looking
    assert later is not None
    run.end_text()
    run.over.set()
    assert finished(await sessions.end_in_time(later)).outcome == "completed"


async def test_a_server_that_was_started_again_meanwhile_has_lost_the_turn(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The turn is found, and its end is that it has none."""
    agent, _ = await sessions.begin_turn()
    await server.stop()
    await server.start()
    later = await sessions.find_again(agent)
    assert later is not None
    assert code_of(await sessions.end_in_time(later)) == "agent-lost-turn"
