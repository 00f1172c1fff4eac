"""The queue of a session: what waits, how it is changed, and how steers overtake it."""

import pytest

from spaced.refusals import PromptNotPending, UnknownPrompt
from tests.integration.engine.house import House, gate, say, text_prompt

ECHO = {"do": "echo"}


async def test_held_prompts_wait_for_a_waking_one(house: House) -> None:
    """They resume nothing themselves, and then go in their order."""
    chat = await house.chat([ECHO])
    await house.send(chat, "one", wake=False)
    await house.send(chat, "two", wake=False)
    await house.idle(chat)
    assert await house.texts(chat) == []

    await house.turn(chat, "three")

    said = [text for text in await house.texts(chat) if text.startswith("assistant")]
    assert said == ["assistant: one", "assistant: two", "assistant: three"]


@pytest.mark.parametrize("how", ["repeat", "send-now", "resume"])
async def test_a_held_prompt_can_be_released(house: House, how: str) -> None:
    """By a repeat of its own id, by sending it now, by resuming the queue."""
    chat = await house.chat([ECHO])
    await house.send(chat, "one", wake=False, prompt_id="mine")

    if how == "repeat":
        await house.send(chat, "one", wake=False, prompt_id="mine")
    elif how == "send-now":
        await house.engine.queue.send_now(chat, "mine")
    else:
        await house.engine.queue.resume(chat)
    await house.idle(chat)

    assert (await house.texts(chat))[-1] == "assistant: one"


async def test_pending_prompts_can_be_moved_edited_and_cancelled(house: House) -> None:
    """What is changed before it goes counts; the cancelled one never goes."""
    chat = await house.chat([gate(), ECHO], [ECHO])
    await house.send(chat, "zero")
    await house.reached()
    for name in ("one", "two", "three"):
        await house.send(chat, name, prompt_id=name)

    await house.engine.queue.move(chat, "three", to_index=0)
    await house.engine.queue.cancel(chat, "one")
    await house.engine.queue.edit(chat, "two", parts=text_prompt("2"))
    house.runtime.gates.open("gate")
    await house.idle(chat)

    said = [text for text in await house.texts(chat) if text.startswith("assistant")]
    assert said == ["assistant: zero", "assistant: three", "assistant: 2"]


async def test_what_has_left_the_queue_cannot_be_changed(house: House) -> None:
    """The agent has it already, or it was cancelled, or there is no such prompt."""
    chat = await house.chat([ECHO])
    receipt = await house.send(chat, "one")
    await house.idle(chat)

    with pytest.raises(PromptNotPending):
        await house.engine.queue.cancel(chat, receipt.id)
    with pytest.raises(UnknownPrompt):
        await house.engine.queue.cancel(chat, "nothing")


async def test_a_paused_queue_waits_until_it_is_resumed(house: House) -> None:
    """Pausing ends nothing; resuming goes on in order."""
    chat = await house.chat([gate(), ECHO], [ECHO])
    await house.send(chat, "one")
    await house.reached()
    await house.send(chat, "two")
    await house.engine.queue.pause(chat)
    house.runtime.gates.open("gate")
    await house.idle(chat)
    assert (await house.texts(chat))[-1] == "assistant: one"

    await house.engine.queue.resume(chat)
    await house.idle(chat)

    assert (await house.texts(chat))[-1] == "assistant: two"


async def test_a_steer_joins_the_running_turn(house: House) -> None:
    """It is shown in the transcript when it is handed in, and is no turn of its own."""
    chat = await house.chat([gate(), {"do": "steered"}])
    await house.send(chat, "one")
    await house.reached()

    await house.send(chat, "left, not right", delivery="steer")
    house.runtime.gates.open("gate")
    await house.idle(chat)

    assert await house.texts(chat) == [
        "user: one",
        "user: left, not right",
        "assistant: left, not right",
    ]
    assert (await house.kinds(chat)).count("turn-started") == 1


async def test_a_steer_that_the_agent_does_not_take_goes_next(house: House) -> None:
    """Pending again, shown once, and before what was queued."""
    chat = await house.chat([gate(), say("end")], [ECHO])
    await house.send(chat, "one")
    await house.reached()
    live = house.engine.executions.live(chat)
    assert live is not None
    await house.send(chat, "queued")
    live.connection.steer = _take_nothing  # type: ignore[union-attr, method-assign]

    await house.send(chat, "steer", delivery="steer")
    while "prompt-returned" not in await house.kinds(chat):
        pass
    house.runtime.gates.open("gate")
    await house.idle(chat)

    said = [text for text in await house.texts(chat) if text.startswith("assistant")]
    assert said == ["assistant: end", "assistant: steer", "assistant: queued"]
    assert (await house.texts(chat)).count("user: steer") == 1


async def _take_nothing(turn_id: str, prompts: object) -> bool:
    del turn_id, prompts
    return False


async def test_pending_steers_go_together(house: House) -> None:
    """In the order of their admission, before the queue."""
    chat = await house.chat([ECHO])
    await house.send(chat, "queued", wake=False)
    for text in ("left", "right"):
        await house.send(chat, text, delivery="steer", wake=False)

    await house.engine.queue.resume(chat)
    await house.idle(chat)

    said = [text for text in await house.texts(chat) if text.startswith("assistant")]
    assert said == ["assistant: left\n\nright", "assistant: queued"]


async def test_sending_now_makes_a_queued_prompt_a_steer(house: House) -> None:
    """It interrupts nothing, and overtakes the queue."""
    chat = await house.chat([gate(), {"do": "steered"}], [ECHO])
    await house.send(chat, "one")
    await house.reached()
    await house.send(chat, "two")
    await house.send(chat, "three", prompt_id="mine")

    await house.engine.queue.send_now(chat, "mine")
    house.runtime.gates.open("gate")
    await house.idle(chat)

    said = [text for text in await house.texts(chat) if text.startswith("assistant")]
    assert said == ["assistant: three", "assistant: two"]
