"""Sessions of an OpenCode server in a real engine: what the log has is what the server did."""

from spaced.domain.events.ask import PermissionAnswered, PermissionAsked
from spaced.domain.events.prompt import PromptAdmitted
from spaced.domain.events.session import SessionReset
from tests.contract.opencode_server import FakeOpenCode
from tests.integration.opencode.opencode_house import OpenCodeHouse, OpenCodeHouses


async def test_a_turn_is_in_the_log(house: OpenCodeHouse, server: FakeOpenCode) -> None:
    """With its tool, its text and what it has cost."""
    chat = await house.chat_with(server, "uses a tool")
    await house.turn(chat)
    ending = await house.last_end(chat)
    assert (ending.outcome, ending.problem) == ("completed", None)
    assert ending.usage is not None
    kinds = [item["type"] for item in await house.items(chat)]
    assert kinds == ["message", "tool-call", "tool-result", "message"]
    assert await house.said(chat) == "Done."


async def test_a_permission_is_answered_once_and_always_is_a_grant(
    house: OpenCodeHouse, server: FakeOpenCode
) -> None:
    """The server is told "once" each time; the person is asked no second time."""
    chat = await house.chat_with(server, "asks permission")
    await house.send(chat, "go")
    ask = await house.until_asked(chat)
    await house.engine.asks.answer_permission(ask, option_id="always")
    await house.idle(chat)
    await house.turn(chat, "again")
    assert (await house.last_end(chat)).outcome == "completed"
    answers = await house.found(chat, PermissionAnswered)
    assert [answer.by for answer in answers] == ["person", "grant"]
    assert server.asked("POST", "/reply") == [{"reply": "once"}, {"reply": "once"}]


async def test_a_turn_goes_on_over_a_crash_of_the_daemon(
    houses: OpenCodeHouses, house: OpenCodeHouse, server: FakeOpenCode
) -> None:
    """What was said while it was down is in the transcript, and nothing of it twice."""
    chat = await house.chat_with(server)
    await house.send(chat, "go")
    run = await house.run_in(server)
    run.say("Before. ")
    run.end_text()
    later = await houses.next_life(house)
    part = run.begin_tool("bash", {"command": "make"})
    run.end_tool(part, "made")
    run.say("After.")
    run.end_text()
    run.over.set()
    await later.idle(chat)
    assert (await later.last_end(chat)).outcome == "completed"
    assert await later.said(chat) == "Before. After."
    kinds = [str(item["type"]) for item in await later.items(chat)]
    assert sorted(kinds) == ["message", "message", "message", "tool-call", "tool-result"]
    assert len(server.asked("POST", "/prompt_async")) == 1


async def test_a_turn_that_ended_while_the_daemon_was_down_has_its_end(
    houses: OpenCodeHouses, house: OpenCodeHouse, server: FakeOpenCode
) -> None:
    """Nothing runs twice because its end was told to nobody."""
    chat = await house.chat_with(server)
    await house.send(chat, "go")
    run = await house.run_in(server)
    await house.die()
    run.say("Said to nobody.")
    run.end_text()
    run.over.set()
    later = await houses.next_life(house)
    await later.idle(chat)
    assert (await later.last_end(chat)).outcome == "completed"
    assert await later.said(chat) == "Said to nobody."
    assert len(server.asked("POST", "/prompt_async")) == 1


async def test_an_ask_outlives_a_crash_of_the_daemon(
    houses: OpenCodeHouses, house: OpenCodeHouse, server: FakeOpenCode
) -> None:
    """It is the same ask, and its answer reaches the agent."""
    chat = await house.chat_with(server, "asks permission")
    await house.send(chat, "go")
    ask = await house.until_asked(chat)
    later = await houses.next_life(house)
    assert await later.until_asked(chat) == ask
    await later.engine.asks.answer_permission(ask, option_id="once")
    await later.idle(chat)
    assert (await later.last_end(chat)).outcome == "completed"
    assert len(await later.found(chat, PermissionAsked)) == 1


async def test_a_server_that_is_away_is_waited_for(
    house: OpenCodeHouse, server: FakeOpenCode
) -> None:
    """The prompt stays accepted, and is handed over once the server is there."""
    chat = await house.chat_with(server, "replies")
    await house.turn(chat, "first")
    await server.leave()
    await house.send(chat, "second")
    await house.until_word(chat, "retry")
    await server.start()
    await house.idle(chat)
    assert await house.said(chat) == "You said: firstYou said: second"
    assert len(await house.found(chat, PromptAdmitted)) == 2


async def test_a_conversation_goes_on_and_is_lost_aloud(
    houses: OpenCodeHouses, house: OpenCodeHouse, server: FakeOpenCode
) -> None:
    """The same session after a crash; a new one, with the transcript, where that is gone."""
    chat = await house.chat_with(server, "replies")
    await house.turn(chat, "first")
    later = await houses.next_life(house)
    await later.turn(chat, "second")
    assert len(server.sessions) == 1
    server.sessions.clear()
    await later.turn(chat, "third")
    assert (await later.last_end(chat)).outcome == "completed"
    (reset,) = await later.found(chat, SessionReset)
    assert reset.reason == "lost"
    texts = [part["text"] for part in server.asked("POST", "/prompt_async")[-1]["parts"]]
    assert "first" in texts[0]
    assert texts[-1] == "third"
