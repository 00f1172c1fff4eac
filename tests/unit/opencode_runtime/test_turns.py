"""How turns begin and end, beyond what every runtime promises."""

import pytest

from spaced.errors import RuntimeProblem
from spaced.runtime.protocol import PermissionAnswer
from spaced.runtime.updates import (
    AgentRetrying,
    AskWithdrawn,
    ConversationLost,
    ExecutionFinished,
    PermissionWanted,
    PromptNotTaken,
)
from spaced.testing.runtime_harness import prompt_with
from tests.contract.opencode_server import FakeOpenCode
from tests.unit.opencode_runtime.by_hand import Sessions, code_of, finished


async def test_a_model_that_fails_fails_the_turn(sessions: Sessions) -> None:
    """With the first line of what the server says; the rest is its traceback."""
    agent = await sessions.begin("fails")
    await agent.prompt()
    ending = finished(await agent.sink.end_of("turn-1"))
    assert ending.problem is not None
    assert ending.problem.code == "agent-error"
    assert ending.problem.message == "OpenCode failed: no more money (APIError)"


async def test_a_prompt_that_the_server_refuses_after_taking_it_fails(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """It answers that all is well, and then tells an error and no end."""
    agent = await sessions.begin()
    agent.connection._agent.mode = "nobody"  # type: ignore[attr-defined]
    await agent.prompt()
    assert code_of(await sessions.end_in_time(agent)) == "agent-error"
    assert not server.only_session().rows


async def test_a_model_that_vanished_fails_the_turn(sessions: Sessions) -> None:
    """The prompt is stored, and idle is told without any answer."""
    agent = await sessions.begin()
    agent.connection._agent.model = "fake/vanished"  # type: ignore[attr-defined]
    await agent.prompt()
    ending = finished(await sessions.end_in_time(agent))
    assert ending.problem is not None
    assert "Model not found: fake/vanished." in ending.problem.message


async def test_a_retry_of_the_model_is_shown(sessions: Sessions) -> None:
    """The server asks its model again, without an end; a person should see that."""
    agent, run = await sessions.begin_turn()
    run.retry(3, "overloaded")
    retry = await agent.sink.until_one(AgentRetrying)
    assert (retry.attempt, retry.message, retry.turn_id) == (3, "overloaded", "turn-1")
    assert retry.next_in_ms == 0


async def test_an_interrupt_before_the_run_has_begun_is_told_again(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """An idle session cannot be stopped, and then the run begins after all."""
    agent = await sessions.begin("hangs")
    server.storing.clear()
    await agent.prompt()
    await agent.connection.interrupt("turn-1")
    assert len(server.asked("POST", "/abort")) == 1
    await sessions.until(lambda: len(server.asked("GET", "/message")) == 2)
    server.storing.set()  # no time passes, so nobody looks again
    await sessions.until(lambda: len(server.asked("POST", "/abort")) > 1)
    assert finished(await sessions.end_in_time(agent)).outcome == "interrupted"
    assert not server.runs


async def test_an_interrupt_of_a_prompt_that_never_begins_ends_its_turn(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The server drops it without a word."""
    agent = await sessions.begin("hangs")
    server.storing.clear()
    await agent.prompt()
    await agent.connection.interrupt("turn-1")
    assert finished(await sessions.end_in_time(agent)).outcome == "interrupted"


async def test_a_close_stops_what_runs_and_leaves_the_session(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """An agent must not go on unseen, and its conversation is not ours to delete."""
    agent, _ = await sessions.begin_turn("hangs")
    await agent.connection.close(0)
    assert not server.runs
    assert len(server.sessions) == 1


async def test_a_steer_that_came_at_the_very_end_is_not_left_lying(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The server stores it and goes idle; it is reminded of it, and answers it once."""
    agent, run = await sessions.begin_turn()
    server.is_deaf_to_steers = True
    assert await agent.connection.steer("turn-1", (prompt_with("And this", prompt_id="msg-2"),))
    await sessions.until(lambda: len(server.only_session().rows) == 3)
    run.over.set()
    await sessions.until(lambda: len(server.asked("POST", "/prompt_async")) == 3)
    again = await sessions.run_of(agent)
    again.say("Answered.")
    again.end_text()
    again.over.set()
    assert finished(await sessions.end_in_time(agent)).outcome == "completed"
    assert agent.sink.text() == "Answered."
    _, first, second = server.asked("POST", "/prompt_async")
    assert first == second


async def test_a_steer_that_did_not_arrive_is_given_back(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """It becomes the next turn's prompt."""
    agent, run = await sessions.begin_turn()
    server.on_prompt = "cut-before"
    assert not await agent.connection.steer("turn-1", (prompt_with("Lost", prompt_id="msg-2"),))
    run.over.set()
    assert finished(await sessions.end_in_time(agent)).outcome == "completed"


async def test_a_steer_whose_answer_was_cut_off_is_looked_for(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """It would be answered twice if it were given back."""
    agent, run = await sessions.begin_turn()
    server.on_prompt = "cut-after"
    assert await agent.connection.steer("turn-1", (prompt_with("Kept", prompt_id="msg-2"),))
    run.over.set()
    assert finished(await sessions.end_in_time(agent)).outcome == "completed"
    assert "Kept" in agent.sink.text()


async def test_always_is_the_daemons_business(sessions: Sessions, server: FakeOpenCode) -> None:
    """The server would keep it in its memory, for all sessions, where nobody sees it."""
    agent = await sessions.begin("asks permission")
    await agent.prompt()
    ask = await agent.sink.until_one(PermissionWanted)
    answer = PermissionAnswer(option_id="always", is_allowed=True)
    assert await agent.connection.answer(ask.ask_id, answer)
    await agent.sink.end_of("turn-1")
    assert server.asked("POST", "/reply") == [{"reply": "once"}]


async def test_a_rejection_carries_what_the_person_said(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The model reads it."""
    agent = await sessions.begin("asks permission")
    await agent.prompt()
    ask = await agent.sink.until_one(PermissionWanted)
    answer = PermissionAnswer(option_id="reject", is_allowed=False, message="not this one")
    assert await agent.connection.answer(ask.ask_id, answer)
    await agent.sink.end_of("turn-1")
    assert server.asked("POST", "/reply") == [{"reply": "reject", "message": "not this one"}]


async def test_an_ask_that_somebody_else_has_answered_is_withdrawn(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """A person has pressed the button in the server's own client."""
    agent = await sessions.begin("asks permission")
    await agent.prompt()
    ask = await agent.sink.until_one(PermissionWanted)
    facts = {"sessionID": server.only_session().id, "requestID": ask.ask_id, "reply": "once"}
    server.emit(server.only_session(), "permission.replied", facts)
    withdrawn = await agent.sink.until_one(AskWithdrawn)
    assert withdrawn.ask_id == ask.ask_id
    answer = PermissionAnswer(option_id="once", is_allowed=True)
    assert not await agent.connection.answer(ask.ask_id, answer)


async def test_a_session_that_is_deleted_ends_the_execution(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The next one begins anew, and says so."""
    agent, _ = await sessions.begin_turn()
    told = agent.sink.continuity()
    server.delete(server.only_session())
    ending = await agent.sink.until_one(ExecutionFinished)
    assert ending.reason == "session-deleted"
    assert told is not None
    later = await sessions.begin("replies", continuity=told.continuity)
    assert later.sink.of(ConversationLost)


async def test_a_session_that_was_lost_in_silence_gives_its_prompt_back(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The server was set up anew; the prompt goes into a new session, with the transcript."""
    agent = await sessions.begin("replies")
    server.sessions.clear()
    await agent.prompt()
    assert isinstance(await agent.sink.end_of("turn-1"), PromptNotTaken)
    assert agent.sink.of(ConversationLost)
    await agent.prompt("Hello")
    await agent.sink.until(lambda _: len(agent.sink.ends_of("turn-1")) == 2)
    assert agent.sink.text() == "You said: Hello"
    assert len(server.sessions) == 1


async def test_a_mode_and_a_model_hold_from_the_next_prompt_on(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """They are told with each prompt, so that no other client's choice gets into it."""
    agent = await sessions.begin("replies")
    changes = {"mode": "plan", "model": "fake/streams", "options": {"agent": "nobody"}}
    report = await agent.connection.configure(changes)
    assert report == {"mode": "applied", "model": "applied", "agent": "failed"}
    await agent.prompt()
    await agent.sink.end_of("turn-1")
    (body,) = server.asked("POST", "/prompt_async")
    assert body["agent"] == "plan"
    assert body["model"] == {"providerID": "fake", "modelID": "streams"}


async def test_a_model_that_is_not_offered_opens_nothing(sessions: Sessions) -> None:
    """The server would take the prompt and fail it."""
    with pytest.raises(RuntimeProblem, match="no model 'fake/nothing'") as raised:
        await sessions.begin("nothing")
    assert raised.value.code == "setting-unavailable"
    with pytest.raises(RuntimeProblem, match="no agent 'general' to talk to"):
        await sessions.begin("replies", mode="general")


async def test_a_conversation_is_compacted_by_its_own_model(
    sessions: Sessions, server: FakeOpenCode
) -> None:
    """The server has to be told which; before any has answered there is nothing to shorten."""
    agent = await sessions.begin("")
    assert not await agent.connection.compact()
    await agent.prompt()
    await agent.sink.end_of("turn-1")
    assert await agent.connection.compact()
    await agent.sink.until(lambda _: "compaction" in str(agent.sink.items()))
    asked = server.asked("POST", "/summarize")
    assert asked == [{"providerID": "fake", "modelID": "replies"}]


async def test_a_wrong_password_is_told_as_such(sessions: Sessions, server: FakeOpenCode) -> None:
    """Neither the right nor the wrong one is in what is said."""
    server.password = "open sesame"
    options = {"password_variable": "SECRET"}
    for known in ({}, {"SECRET": "wrong"}):
        sessions.environment.clear()
        sessions.environment.update(known)
        with pytest.raises(RuntimeProblem) as raised:
            await sessions.begin("replies", options=options)
        assert raised.value.code == ("agent-unauthorized" if known else "bad-options")
        assert "wrong" not in raised.value.message + raised.value.remedy
    sessions.environment["SECRET"] = "open sesame"
    agent = await sessions.begin("replies", options=options)
    await agent.prompt()
    assert finished(await agent.sink.end_of("turn-1")).outcome == "completed"
