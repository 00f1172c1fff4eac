"""Restarts after a crash and after a stop: nothing is lost, nothing runs twice, nothing stands still."""

import asyncio
from typing import Any

import pytest

from spaced.domain.events.prompt import PromptAdmitted
from spaced.domain.events.turn import TurnDispatched, TurnEnded
from spaced.engine.doctor import examine
from spaced.refusals import SessionBusy
from spaced.runtime.updates import TextAppended
from spaced.testing.samples import event, write
from tests.integration.engine.house import House, Houses, gate, say, text_prompt

HANG = {"do": "hang"}
ECHO = {"do": "echo"}


async def _outcomes(house: House, chat: str) -> list[str]:
    return [end.outcome for end in await house.found(chat, TurnEnded)]


async def _check_whole(house: House) -> None:
    assert [finding async for finding in examine(house.storage)] == []


async def test_a_turn_whose_agent_is_gone_is_abandoned(houses: Houses) -> None:
    """It says so, its items are closed, and the next prompt works."""
    house = await houses.open()
    running = {"type": "tool-call", "call_id": "c", "name": "build", "status": "running"}
    chat = await house.chat([say("Hel", pieces=3), {"do": "raw", "item": running}, gate()], [ECHO])
    await house.send(chat, "one")
    await house.reached()

    house = await houses.crash(house)

    assert await _outcomes(house, chat) == ["abandoned"]
    assert (await house.session(chat)).status == "idle"
    items = await house.items(chat)
    assert [i["status"] for i in items if i["type"] == "tool-call"] == ["interrupted"]
    assert [i["is_error"] for i in items if i["type"] == "tool-result"] == [True]
    assert items[-1]["code"] == "restarted"
    await house.turn(chat, "two")
    assert (await house.texts(chat))[-1] == "assistant: two"
    await _check_whole(house)


async def test_text_that_was_not_in_the_log_comes_from_the_tail(houses: Houses) -> None:
    """A crash costs a second at most."""
    house = await houses.open()
    chat = await house.chat([gate()])
    await house.send(chat, "one")
    await house.reached()
    live = house.engine.executions.live(chat)
    turn = (await house.found(chat, TurnDispatched))[0].turn_id
    assert live is not None
    for text in ("Once", " upon", " a time"):
        await live.sink.report(TextAppended(source="x", text=text, turn_id=turn))
    await house.pass_time(1000)
    async with asyncio.timeout(10):
        while not (await house.storage.list_rows("open_tail")).rows:
            pass
    await live.sink.report(TextAppended(source="x", text=" lost", turn_id=turn))

    house = await houses.crash(house)

    (message,) = [i for i in await house.items(chat) if i.get("role") != "user" and "content" in i]
    assert message["content"] == "Once upon a time"
    assert message["stream_status"] == "interrupted"
    assert (await house.storage.list_rows("open_tail")).rows == []
    await _check_whole(house)


async def test_what_was_not_handed_over_goes_after_the_restart(houses: Houses) -> None:
    """The prompt is pending again, shown once, and answered."""
    house = await houses.open()
    chat = await house.chat([ECHO], options={"open": "hangs"})
    await house.send(chat, "one")
    await house.until_word(chat, "starting")
    while "execution-opened" not in await house.kinds(chat):
        pass

    profile_id = (await house.session(chat)).agent_id or ""
    await house.mend_profile(profile_id)
    house = await houses.crash(house)
    await house.idle(chat)

    assert await _outcomes(house, chat) == ["not-dispatched", "completed"]
    assert await house.texts(chat) == ["user: one", "assistant: one"]


async def test_a_dispatched_prompt_is_never_handed_over_again(houses: Houses) -> None:
    """Not even if the agent had only just got it."""
    house = await houses.open()
    chat = await house.chat([gate(), ECHO])
    await house.send(chat, "one")
    await house.reached()

    for _ in range(2):
        house = await houses.crash(house)
        await house.idle(chat)

    assert len(await house.found(chat, TurnDispatched)) == 1
    assert await _outcomes(house, chat) == ["abandoned"]


async def test_queued_prompts_go_on_after_a_crash(houses: Houses) -> None:
    """The abandoned turn does not pause the queue."""
    house = await houses.open()
    chat = await house.chat([gate()], [ECHO])
    await house.send(chat, "one")
    await house.reached()
    await house.send(chat, "two")

    house = await houses.crash(house)
    await house.idle(chat)

    assert (await house.texts(chat))[-1] == "assistant: two"


async def test_a_paused_queue_is_paused_after_a_crash(houses: Houses) -> None:
    """Whoever interrupted meant it."""
    house = await houses.open()
    chat = await house.chat([HANG], [ECHO])
    await house.send(chat, "one")
    await house.until_word(chat, "busy")
    await house.send(chat, "two")
    await house.engine.control.interrupt(chat)
    await house.idle(chat)

    house = await houses.crash(house)
    await house.idle(chat)

    assert [p.parts for p in await house.engine.queue.pending(chat)] == [text_prompt("two")]


async def test_an_agent_that_outlived_the_daemon_goes_on(houses: Houses) -> None:
    """Its turn is whole: what it said before, meanwhile and after stands once."""
    house = await houses.open()
    chat = await house.chat(
        [say("before ", source="s"), {"do": "wait", "ms": 1000}, say("after", source="t")],
        options={"survives": True},
    )
    await house.send(chat, "one")
    async with asyncio.timeout(10):
        while "before" not in str(await house.items(chat)):
            pass

    house = await houses.crash(house)
    assert house.engine.coordinator.status(chat).word in ("starting", "busy")
    await house.pass_time(1000)
    await house.idle(chat)

    assert await _outcomes(house, chat) == ["completed"]
    said = "".join(
        str(i["content"]) for i in await house.items(chat) if i.get("role") == "assistant"
    )
    assert said == "before after"
    assert len(await house.found(chat, TurnDispatched)) == 1
    await _check_whole(house)


async def test_an_agent_that_finished_meanwhile_is_heard(houses: Houses) -> None:
    """The turn ends as the agent ended it."""
    house = await houses.open()
    chat = await house.chat([gate(), say("done")], options={"survives": True})
    await house.send(chat, "one")
    await house.reached()

    house = await houses.crash(house)
    await house.reached()
    house.runtime.gates.open("gate")
    await house.idle(chat)

    assert await _outcomes(house, chat) == ["completed"]
    assert (await house.texts(chat))[-1] == "assistant: done"


async def test_a_turn_that_goes_on_can_be_interrupted(houses: Houses) -> None:
    """Nothing differs from a turn that was begun in this life."""
    house = await houses.open()
    chat = await house.chat([gate()], [ECHO], options={"survives": True})
    await house.send(chat, "one")
    await house.reached()
    await house.send(chat, "two")

    house = await houses.crash(house)
    await house.reached()
    await house.engine.control.interrupt(chat)
    await house.idle(chat)

    assert await _outcomes(house, chat) == ["interrupted"]
    assert (await house.session(chat)).is_queue_paused


async def test_a_profile_may_tell_its_agent_to_go_on(houses: Houses) -> None:
    """With one short prompt of ours, before what waits, at most three times in a row."""
    house = await houses.open()
    chat = await house.chat([gate()], on_restart="continue")
    await house.send(chat, "one")
    await house.reached()

    for _ in range(5):
        house = await houses.crash(house)
        if house.engine.coordinator.status(chat).word != "idle":
            await house.reached()
    await house.idle(chat)

    origins = [e.origin for e in await house.found(chat, PromptAdmitted)]
    assert origins == ["person", "recovery", "recovery", "recovery"]
    assert await _outcomes(house, chat) == ["abandoned"] * 4


async def test_a_conversation_is_continued_after_a_restart(houses: Houses) -> None:
    """The agent knows what was said, and the next turn of its script comes."""
    house = await houses.open()
    chat = await house.chat([say("first")], [{"do": "recall"}])
    await house.turn(chat, "remember me")

    house = await houses.restart(house)
    await house.turn(chat)

    assert "remember me" in (await house.texts(chat))[-1]


async def test_a_lost_conversation_gets_the_transcript(houses: Houses) -> None:
    """The generation is raised, the loss is shown, and the agent is told what was said."""
    house = await houses.open()
    chat = await house.chat([{"do": "echo", "what": "history"}])
    await house.turn(chat, "remember me")
    house = await houses.restart(house)
    state = house.folder / "state" / "scripted"
    for path in state.rglob("*.json"):
        path.unlink()

    await house.turn(chat)

    assert (await house.session(chat)).generation == 2
    assert any(i.get("event") == "conversation-lost" for i in await house.items(chat))
    assert "remember me" in (await house.texts(chat))[-1]


async def test_a_stop_lets_turns_end_within_the_grace(houses: Houses) -> None:
    """The turn is completed, and what waits goes on after the start."""
    house = await houses.open()
    chat = await house.chat([gate(), say("done")], [ECHO])
    await house.send(chat, "one")
    await house.reached()
    await house.send(chat, "two")
    stopping = asyncio.ensure_future(house.engine.stop())
    while not house.engine.coordinator._is_stopping:
        await asyncio.wait({stopping}, timeout=0)

    house.runtime.gates.open("gate")
    await asyncio.wait_for(stopping, 10)
    house = await houses.restart(house)
    await house.idle(chat)

    assert await _outcomes(house, chat) == ["completed", "completed"]
    assert (await house.texts(chat))[-1] == "assistant: two"


async def test_a_turn_that_does_not_end_is_stopped_with_the_daemon(houses: Houses) -> None:
    """It says so; queues are not paused by a stop."""
    house = await houses.open()
    chat = await house.chat([gate()], [ECHO])
    await house.send(chat, "one")
    await house.reached()
    await house.send(chat, "two")
    stopping = asyncio.ensure_future(house.engine.stop())
    await house.pass_time(10_000, sleepers=1)
    await asyncio.wait_for(stopping, 10)

    assert await _outcomes(house, chat) == ["daemon-stopped"]
    house = await houses.restart(house)
    await house.idle(chat)

    assert (await house.texts(chat))[-1] == "assistant: two"


async def test_nothing_begins_while_the_daemon_stops(houses: Houses) -> None:
    """A prompt is admitted still, and goes after the next start."""
    house = await houses.open()
    chat = await house.chat([gate(), ECHO], [ECHO])
    await house.send(chat, "one")
    await house.reached()
    stopping = asyncio.ensure_future(house.engine.stop())
    while not house.engine.coordinator._is_stopping:
        await asyncio.wait({stopping}, timeout=0)

    await house.send(chat, "two")
    house.runtime.gates.open("gate")
    await asyncio.wait_for(stopping, 10)
    assert (await house.texts(chat))[-1] == "assistant: one"
    house = await houses.restart(house)
    await house.idle(chat)

    assert (await house.texts(chat))[-1] == "assistant: two"


async def test_the_builtin_workflow_is_ensured_and_never_written_over(houses: Houses) -> None:
    """Starting again records nothing."""
    house = await houses.open()
    before = [event.kind for event in await house.log()]

    house = await houses.restart(house)

    assert before == ["workflow-defined"]
    assert [event.kind for event in await house.log()] == before


@pytest.mark.parametrize("way", ["crash", "restart"])
async def test_state_that_is_at_rest_is_left_alone(houses: Houses, way: str) -> None:
    """A start over a quiet log records nothing."""
    house = await houses.open()
    chat = await house.chat([ECHO])
    await house.turn(chat)
    await house.engine.stop()
    before = [event.kind for event in await house.log()]

    house = await getattr(houses, way)(house)

    assert [event.kind for event in await house.log()] == before


async def test_a_damaged_session_costs_the_others_nothing(houses: Houses) -> None:
    """It is named, and every other session goes on."""
    house = await houses.open()
    chat = await house.chat([ECHO])
    bad = await house.chat([gate()])
    await house.send(bad, "one")
    await house.reached()
    version = await house.storage.version(bad)
    broken = event(b'{"item":{}}', kind="agent-item-appended", session_id=bad, item_id="x")
    await house.storage.append([write(bad, version, broken)])

    house = await houses.crash(house)
    await house.turn(chat, "fine")

    assert (await house.texts(chat))[-1] == "assistant: fine"


async def test_reset_begins_a_new_conversation(house: House) -> None:
    """The transcript stays, the agent remembers nothing."""
    chat = await house.chat([say("first")], [{"do": "recall"}])
    await house.turn(chat, "remember me")

    await house.engine.control.reset(chat)
    await house.turn(chat)

    session = await house.session(chat)
    assert session.generation == 2
    assert "user: remember me" in await house.texts(chat)
    assert "remember me" not in (await house.texts(chat))[-1]


async def test_a_busy_session_is_not_reset(house: House) -> None:
    """Nothing is recorded for it."""
    chat = await house.chat([gate()])
    await house.send(chat, "one")
    await house.reached()

    with pytest.raises(SessionBusy):
        await house.engine.control.reset(chat)

    house.runtime.gates.open("gate")
    await house.idle(chat)


async def test_a_wait_ends_with_the_turn_or_with_its_time(house: House) -> None:
    """Running out of time changes nothing and tells how far the session is."""
    running: dict[str, Any] = {"type": "tool-call", "call_id": "c", "status": "running"}
    chat = await house.chat([{"do": "raw", "item": running}, gate(), say("done")])
    await house.send(chat, "one")
    await house.reached()
    await house.send(chat, "two", wake=False)

    waiting = asyncio.ensure_future(house.engine.control.wait(chat, timeout_ms=5000))
    await house.pass_time(5000)
    progress = await waiting

    assert not progress.is_done
    assert progress.pending == 1
    assert [tool["call_id"] for tool in progress.running_tools] == ["c"]
    house.runtime.gates.open("gate")
    done = await house.engine.control.wait(chat, timeout_ms=5000)
    assert done.is_done
    assert "done" in str(done.items[-1])
