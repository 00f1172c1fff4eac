"""Interrupts: always idle in the end, the queue still there and paused."""

import asyncio
from typing import Any

import pytest

from spaced.domain.events.turn import TurnEnded
from spaced.refusals import AskExpired
from tests.integration.engine.house import House, gate, say, text_prompt

HANG = {"do": "hang"}
REFUSE = {"do": "refuse_to_stop"}
QUESTION = {"do": "question", "questions": [{"text": "Which?"}]}


async def _pending(house: House, chat: str) -> list[Any]:
    return [prompt.parts for prompt in await house.engine.queue.pending(chat)]


async def _check_stopped(house: House, chat: str, *outcomes: str) -> None:
    """The session is idle, its one pending prompt waits in a paused queue, and the next works."""
    ends = await house.found(chat, TurnEnded)
    assert [end.outcome for end in ends] == list(outcomes)
    assert (await house.session(chat)).status == "idle"
    assert (await house.session(chat)).is_queue_paused
    assert await _pending(house, chat) == [text_prompt("second")]


async def test_a_cooperative_agent_stops_at_once(house: House) -> None:
    """The turn ends interrupted, and what waits in the queue stays."""
    chat = await house.chat([say("Hel"), HANG])
    await house.send(chat, "first")
    await house.until_word(chat, "busy")
    await house.send(chat, "second")

    assert await house.engine.control.interrupt(chat)
    await house.idle(chat)

    await _check_stopped(house, chat, "interrupted")


async def test_a_new_prompt_goes_on_in_order(house: House) -> None:
    """It resumes the queue: what waited goes first."""
    chat = await house.chat([HANG], [{"do": "echo"}])
    await house.send(chat, "first")
    await house.until_word(chat, "busy")
    await house.send(chat, "second")
    await house.engine.control.interrupt(chat)
    await house.idle(chat)

    await house.turn(chat, "third")

    said = [text for text in await house.texts(chat) if text.startswith("assistant")]
    assert said == ["assistant: second", "assistant: third"]
    assert (await house.kinds(chat)).count("queue-resumed") == 1


async def test_an_agent_that_ignores_it_is_killed_after_the_grace(house: House) -> None:
    """Its profile says how long it may take."""
    chat = await house.chat([REFUSE, gate(), HANG], [say("Ok")], cancel_grace_ms=2000)
    await house.send(chat, "first")
    await house.reached()
    await house.send(chat, "second")

    await house.engine.control.interrupt(chat)
    house.clock.advance(milliseconds=1999)
    assert house.engine.coordinator.status(chat).word != "idle"
    await house.pass_time(1)
    await house.idle(chat)

    await _check_stopped(house, chat, "interrupted")
    assert "execution-ended" in await house.kinds(chat)


async def test_a_second_interrupt_kills_at_once(house: House) -> None:
    """No grace is waited for."""
    chat = await house.chat([REFUSE, gate(), HANG], cancel_grace_ms=600_000)
    await house.send(chat, "first")
    await house.reached()
    await house.send(chat, "second")

    await house.engine.control.interrupt(chat)
    await house.engine.control.interrupt(chat)
    await house.idle(chat)

    await _check_stopped(house, chat, "interrupted")


async def test_during_the_opening_the_prompt_is_pending_again(house: House) -> None:
    """The agent never had it; the opening is given up and nothing of it is left."""
    chat = await house.chat([say("Ok")], options={"open": "hangs"})
    await house.send(chat, "second")
    async with asyncio.timeout(10):
        while not house._runtimes:
            await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        await house.runtime.is_opening.wait()

    await house.engine.control.interrupt(chat)
    await house.idle(chat)

    assert house.runtime.was_cancelled
    ends = await house.found(chat, TurnEnded)
    assert [end.outcome for end in ends] == ["not-dispatched"]
    assert await _pending(house, chat) == [text_prompt("second")]
    assert (await house.session(chat)).is_queue_paused
    assert house.engine.executions.live(chat) is None
    assert "execution-ended" in await house.kinds(chat)


async def test_during_the_wait_for_an_attempt_the_turn_ends_at_once(house: House) -> None:
    """No further attempt is made."""
    chat = await house.chat([{"do": "not_taken", "times": 3, "after_ms": 60_000}], [say("Ok")])
    await house.send(chat, "first")
    await house.until_word(chat, "retry")
    await house.send(chat, "second")

    await house.engine.control.interrupt(chat)
    await house.idle(chat)

    await _check_stopped(house, chat, "interrupted")
    assert (await house.kinds(chat)).count("turn-dispatched") == 1


@pytest.mark.parametrize("asking", [QUESTION, {"do": "ask_permission"}])
async def test_during_an_ask_the_ask_expires(house: House, asking: dict[str, Any]) -> None:
    """An answer that comes after it is told so."""
    chat = await house.chat([asking, HANG])
    await house.send(chat, "first")
    ask_id = await house.until_asked(chat)
    await house.send(chat, "second")

    await house.engine.control.interrupt(chat)
    await house.idle(chat)

    await _check_stopped(house, chat, "interrupted")
    with pytest.raises(AskExpired):
        await house.engine.asks.answer_question(ask_id, [["A"]])


async def test_while_waiting_for_a_place_nothing_has_begun(house: House) -> None:
    """The prompt stays in its paused queue, and the place goes to the next one."""
    house.engine.coordinator._slots._free = 1
    first = await house.chat([gate("a")])
    other = await house.chat([say("Ok")])
    await house.send(first, "Hi")
    await house.reached("a")
    await house.send(other, "second")
    await house.until_word(other, "queued")

    assert await house.engine.control.interrupt(other)
    await house.idle(other)

    assert await _pending(house, other) == [text_prompt("second")]
    assert (await house.session(other)).is_queue_paused
    house.runtime.gates.open("a")
    await house.idle(first)
    await house.engine.queue.resume(other)
    await house.idle(other)
    assert (await house.texts(other))[-1] == "assistant: Ok"


async def test_an_idle_session_is_not_interrupted(house: House) -> None:
    """Nothing is recorded for it."""
    chat = await house.chat([say("Ok")])
    await house.turn(chat)
    before = await house.kinds(chat)

    assert not await house.engine.control.interrupt(chat)

    assert await house.kinds(chat) == before


async def test_open_items_are_closed(house: House) -> None:
    """Text that was on its way is kept; a tool without a result gets one that says so."""
    running = {"type": "tool-call", "call_id": "c", "name": "sleep", "status": "running"}
    chat = await house.chat([say("Hel", pieces=3), {"do": "raw", "item": running}, HANG])
    await house.send(chat, "first")
    async with asyncio.timeout(10):
        while not any(i["type"] == "tool-call" for i in await house.items(chat)):
            pass

    await house.engine.control.interrupt(chat)
    await house.idle(chat)

    items = await house.items(chat)
    assert [i.get("status") for i in items if i["type"] == "tool-call"] == ["interrupted"]
    assert [i["is_error"] for i in items if i["type"] == "tool-result"] == [True]
    assert items[-1]["event"] == "turn-interrupted"


async def test_replacing_ends_the_turn_and_goes_next(house: House) -> None:
    """The queue is not paused; the new prompt goes before what waited."""
    chat = await house.chat([HANG], [{"do": "echo"}])
    await house.send(chat, "first")
    await house.until_word(chat, "busy")
    await house.send(chat, "later")

    await house.send(chat, "instead", replaces_turn=True)
    await house.idle(chat)

    said = [text for text in await house.texts(chat) if text.startswith("assistant")]
    assert said == ["assistant: instead", "assistant: later"]
