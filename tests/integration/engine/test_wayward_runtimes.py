"""Runtimes that break their promises: they cost their own turn, and never more."""

import asyncio

from spaced.domain.events.prompt import PromptReturned
from spaced.domain.events.turn import TurnEnded, TurnRetrying
from spaced.runtime.updates import ExecutionFinished
from tests.integration.engine.house import PATIENCE, House, gate, say


async def _outcomes(house: House, chat: str) -> list[str]:
    return [end.outcome for end in await house.found(chat, TurnEnded)]


async def test_a_hand_over_that_hangs_can_be_interrupted(house: House) -> None:
    """The agent may have the prompt, so it is not pending again; the session is idle."""
    chat = await house.chat([say("Ok")], options={"hand_over": "hangs"}, cancel_grace_ms=100)
    await house.send(chat, "one")
    await house.until_word(chat, "busy")

    await house.engine.control.interrupt(chat)
    await house.engine.control.interrupt(chat)
    await house.idle(chat)

    assert await _outcomes(house, chat) == ["interrupted"]
    assert await house.engine.queue.pending(chat) == []


async def test_an_agent_that_cannot_be_reached_is_tried_again(house: House) -> None:
    """The turn has not begun, so the prompt is handed over once more."""
    chat = await house.chat([say("Ok")], options={"hand_over": "fails"})
    await house.send(chat, "one")

    await house.until_word(chat, "retry")
    await house.pass_time(1000)
    await house.idle(chat)

    assert [e.message for e in await house.found(chat, TurnRetrying)] == ["the pipe is closed"]
    assert await house.texts(chat) == ["user: one", "assistant: Ok"]


async def test_a_fault_in_a_hand_over_fails_the_turn(house: House) -> None:
    """Nobody knows whether the agent has the prompt, so it is not tried again."""
    chat = await house.chat([say("Ok")], options={"hand_over": "breaks"})

    await house.turn(chat)

    (end,) = await house.found(chat, TurnEnded)
    assert (end.outcome, end.problem.code) == ("failed", "runtime-fault")
    assert "execution-ended" in await house.kinds(chat)


async def test_a_steer_that_hangs_keeps_no_turn_from_ending(house: House) -> None:
    """What became of it is not known, so it is never handed over again."""
    chat = await house.chat([gate(), say("Ok")], options={"hand_over": "hangs on steer"})
    await house.send(chat, "one")
    await house.reached()
    await house.send(chat, "left", delivery="steer")
    async with asyncio.timeout(PATIENCE):
        while (await house.kinds(chat)).count("turn-dispatched") != 2:
            pass

    house.runtime.gates.open("gate")
    await house.pass_time(1000)
    await house.idle(chat)

    assert await _outcomes(house, chat) == ["completed"]
    assert await house.found(chat, PromptReturned) == []


async def test_a_connection_that_ends_between_two_attempts_is_made_anew(house: House) -> None:
    """The agent has nothing of the turn, so its end fails nothing."""
    chat = await house.chat([{"do": "not_taken", "after_ms": 1000}, say("Ok")], [say("Ok")])
    await house.send(chat, "one")
    await house.until_word(chat, "retry")
    live = house.engine.executions.live(chat)
    assert live is not None

    await live.sink.report(ExecutionFinished(reason="crashed"))
    async with asyncio.timeout(PATIENCE):
        while "execution-ended" not in await house.kinds(chat):
            pass
    await house.pass_time(1000)
    await house.idle(chat)

    assert await _outcomes(house, chat) == ["completed"]
    assert (await house.kinds(chat)).count("execution-opened") == 2
