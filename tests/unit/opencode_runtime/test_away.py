"""A server that is away for a while: nothing of a turn is lost, and nothing comes twice."""

import pytest

from spaced.errors import RuntimeProblem
from spaced.runtime.protocol import PermissionAnswer
from spaced.runtime.updates import (
    AgentRetrying,
    AskWithdrawn,
    PermissionWanted,
    PromptNotTaken,
    TextAppended,
)
from spaced_opencode.problems import ServerUnreachable
from spaced_opencode.server_api import ServerApi
from tests.contract.opencode_server import FakeOpenCode
from tests.unit.opencode_runtime.by_hand import Sessions, code_of, finished

ALLOWED = PermissionAnswer(option_id="once", is_allowed=True)


async def test_what_was_said_meanwhile_is_there_once(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """A text of which pieces were missed is shown whole as soon as the server has it whole."""
    agent, run = await sessions.begin_turn()
    run.say("One. ")
    await agent.sink.until_one(TextAppended)
    await server.leave()
    run.say("Two. ")
    await agent.sink.until_one(AgentRetrying)
    await server.start()
    await sessions.pass_time_until(lambda: len(server.asked("GET", "/session/status")) > 0)
    run.say("Three.")
    run.end_text()
    run.over.set()
    assert finished(await sessions.end_in_time(agent)).outcome == "completed"
    assert agent.sink.text() == "One. Two. Three."
    # Pieces after the gap were not put where the missing one belongs.
    assert [piece.text for piece in agent.sink.of(TextAppended)] == ["One. "]


async def test_a_turn_that_ended_meanwhile_ends(sessions: Sessions, server: FakeOpenCode) -> None:
    """Its idle was told to nobody, and everything that it said is read from what is stored."""
    agent, run = await sessions.begin_turn()
    await server.leave()
    part = run.begin_tool("bash", {"command": "make"})
    run.end_tool(part, "made")
    run.say("All of it.")
    run.end_text()
    run.over.set()
    await agent.sink.until_one(AgentRetrying)
    await server.start()
    assert finished(await sessions.end_in_time(agent)).outcome == "completed"
    assert agent.sink.text() == "All of it."
    assert agent.sink.text("tool-result", "output") == "made"


async def test_an_ask_that_stays_open_is_one_ask(sessions: Sessions, server: FakeOpenCode) -> None:
    """It is reported once, and takes its answer after the server has come back."""
    agent = await sessions.begin("asks permission")
    await agent.prompt()
    ask = await agent.sink.until_one(PermissionWanted)
    await server.leave()
    await agent.sink.until_one(AgentRetrying)
    await server.start()
    await sessions.pass_time_until(lambda: len(server.asked("GET", "/question")) > 0)
    assert await agent.connection.answer(ask.ask_id, ALLOWED)
    assert finished(await sessions.end_in_time(agent)).outcome == "completed"
    assert len(agent.sink.of(PermissionWanted)) == 1


async def test_an_answer_that_is_given_meanwhile_arrives_later(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The person has pressed the button once and is not asked again."""
    agent = await sessions.begin("asks permission")
    await agent.prompt()
    ask = await agent.sink.until_one(PermissionWanted)
    await server.leave()
    assert await agent.connection.answer(ask.ask_id, ALLOWED)
    assert not await agent.connection.answer(ask.ask_id, ALLOWED)
    await server.start()
    assert finished(await sessions.end_in_time(agent)).outcome == "completed"
    assert len(server.asked("POST", "/reply")) == 1


async def test_an_ask_that_closed_meanwhile_is_withdrawn(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """Nobody is to be shown a question that takes no answer any more."""
    agent = await sessions.begin("asks permission")
    await agent.prompt()
    ask = await agent.sink.until_one(PermissionWanted)
    await server.leave()
    server.permissions.clear()
    await agent.sink.until_one(AgentRetrying)
    await server.start()
    await sessions.pass_time_until(lambda: bool(agent.sink.of(AskWithdrawn)))
    assert agent.sink.withdrawn() == {ask.ask_id}


async def test_a_server_that_was_started_again_has_lost_the_turn(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """It is idle, and its message never ends: the turn fails with a word on why."""
    agent, run = await sessions.begin_turn()
    run.say("So far")
    await agent.sink.until_one(TextAppended)
    await server.stop()
    await server.start()
    assert code_of(await sessions.end_in_time(agent)) == "agent-lost-turn"
    await agent.prompt(turn_id="turn-2")
    (await sessions.run_of(agent)).over.set()
    assert finished(await sessions.end_in_time(agent, "turn-2")).outcome == "completed"


async def test_a_server_that_stays_away_fails_the_turn_in_the_end(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """Each attempt is shown; the turn is given up after about a minute."""
    agent, _ = await sessions.begin_turn()
    await server.leave()
    assert code_of(await sessions.end_in_time(agent)) == "agent-unreachable"
    attempts = [retry.attempt for retry in agent.sink.of(AgentRetrying)]
    assert attempts == list(range(1, len(attempts) + 1))
    assert len(attempts) > 5


async def test_what_goes_on_of_a_turn_that_was_given_up_is_stopped(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The next prompt must not become part of work that nobody follows."""
    agent, _ = await sessions.begin_turn("hangs")
    await server.leave()
    await sessions.end_in_time(agent)
    await server.start()
    await sessions.pass_time_until(lambda: not server.runs)
    assert len(server.asked("POST", "/abort")) == 1


async def test_a_server_that_is_away_takes_no_turn(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The turn has surely not begun, so that it may be tried again; a server that is back works."""
    agent = await sessions.begin("replies")
    await server.leave()
    await sessions.until(lambda: not agent.connection._agent.feed.is_connected)  # type: ignore[attr-defined]
    with pytest.raises(RuntimeProblem, match=f"{server.url} cannot be reached") as raised:
        await agent.prompt()
    assert raised.value.code == "agent-unreachable"
    await server.start()
    await agent.prompt()
    assert finished(await agent.sink.end_of("turn-1")).outcome == "completed"


async def test_a_server_that_is_not_there_opens_nothing(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The error names the address and says what to do."""
    await server.stop()
    with pytest.raises(RuntimeProblem, match=server.url) as raised:
        await sessions.begin()
    assert raised.value.code == "agent-unreachable"
    assert "/global/health" in raised.value.remedy


async def test_a_prompt_that_did_not_arrive_is_given_back(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The connection was cut before the server had read it: it is safe to hand it over again."""
    agent = await sessions.begin("replies")
    server.on_prompt = "cut-before"
    await agent.prompt()
    assert isinstance(await sessions.end_in_time(agent), PromptNotTaken)
    assert not server.only_session().rows


async def test_a_prompt_that_did_arrive_is_not_handed_over_again(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """Only the answer to it was cut off; its turn is as any other."""
    agent = await sessions.begin("replies")
    server.on_prompt = "cut-after"
    await agent.prompt("Hello")
    assert finished(await sessions.end_in_time(agent)).outcome == "completed"
    assert agent.sink.text() == "You said: Hello"
    assert len(server.asked("POST", "/prompt_async")) == 1


async def test_a_prompt_that_is_handed_over_again_is_known(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """Whatever made us believe that it was not taken, the same turn never runs twice."""
    agent = await sessions.begin("replies")
    await agent.prompt("Hello")
    await agent.sink.end_of("turn-1")
    await agent.prompt("Hello")
    await sessions.pass_time_until(lambda: len(agent.sink.ends_of("turn-1")) > 1)
    assert len(server.asked("POST", "/prompt_async")) == 1
    assert agent.sink.text() == "You said: Hello"


async def test_whether_a_request_may_have_arrived_is_told(server: FakeOpenCode) -> None:
    """What was surely not taken can be handed over again at once."""
    api = ServerApi(server.url, password=None, directory="/")
    session = server.new_session("/")
    server.on_prompt = "cut-before"
    with pytest.raises(ServerUnreachable) as cut:
        await api.prompt(session.id, {"messageID": "msg_1", "parts": []})
    await server.stop()
    with pytest.raises(ServerUnreachable) as refused:
        await api.prompt(session.id, {"messageID": "msg_1", "parts": []})
    await api.close()
    assert (cut.value.may_have_arrived, refused.value.may_have_arrived) == (True, False)
