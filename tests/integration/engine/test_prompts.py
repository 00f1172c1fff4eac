"""Admission: once, durably and in order, whoever asks how often."""

import asyncio

import pytest

from spaced.domain.events.prompt import PromptAdmitted, PromptPromoted
from spaced.domain.events.transcript import AgentStatusChanged
from spaced.domain.json_values import JsonObject
from spaced.engine.announcements import Announcement, Committed
from spaced.engine.held_run import about
from spaced.engine.prompts import Address, PromptRequest
from spaced.errors import InvalidIdentifier
from spaced.refusals import (
    InvalidPrompt,
    PromptConflict,
    SessionTerminal,
    UnknownRun,
    UnknownSession,
)
from spaced.testing.samples import next_turn
from tests.integration.engine.house import House, Houses, gate, text_prompt

ECHO = {"do": "echo"}


async def test_a_receipt_says_where_a_prompt_stands(house: House) -> None:
    """Its id, its session, the version that admitted it, and how many stand before it."""
    chat = await house.chat([gate()])
    await house.send(chat, "one")
    await house.reached()

    receipt = await house.send(chat, "two", prompt_id="mine")
    later = await house.send(chat, "three")

    recorded = await house.recorded(chat)
    assert (receipt.id, receipt.session_id, receipt.delivery) == ("mine", chat, "queue")
    assert recorded[receipt.admitted_version - 1].kind == "prompt-admitted"
    assert (receipt.queue_index, later.queue_index) == (0, 1)
    house.runtime.gates.open("gate")
    await house.idle(chat)


async def test_queued_prompts_go_one_by_one_in_order(house: House) -> None:
    """Each is a turn of its own, whatever their ids sort like."""
    chat = await house.chat([gate(), ECHO], [ECHO])
    await house.send(chat, "one", prompt_id="zzz")
    await house.reached()
    for number, prompt_id in enumerate(("mmm", "aaa", "Z", "000")):
        house.clock.advance(seconds=-3600)
        await house.send(chat, f"prompt {number}", prompt_id=prompt_id)

    house.runtime.gates.open("gate")
    await house.idle(chat)

    said = [text for text in await house.texts(chat) if text.startswith("assistant")]
    assert said == ["assistant: one", *(f"assistant: prompt {n}" for n in range(4))]


async def test_a_repeat_gets_the_first_answer_and_runs_once(house: House) -> None:
    """Also after the prompt has long been answered."""
    chat = await house.chat([ECHO])
    first = await house.send(chat, "Hi", prompt_id="mine")
    await house.idle(chat)
    await house.turn(chat, "more")

    again = await house.send(chat, "Hi", prompt_id="mine")
    await house.idle(chat)

    assert again == first
    assert len(await house.found(chat, PromptAdmitted)) == 2


async def test_two_at_once_with_one_id_are_one_prompt(house: House) -> None:
    """A retry that overtakes its first try changes nothing."""
    chat = await house.chat([ECHO])

    receipts = await asyncio.gather(*(house.send(chat, "Hi", prompt_id="mine") for _ in range(20)))
    await house.idle(chat)

    assert len(set(receipts)) == 1
    assert len(await house.found(chat, PromptAdmitted)) == 1


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"parts": text_prompt("other")}, "with other parts"),
        ({"delivery": "steer"}, "with delivery 'queue'"),
    ],
)
async def test_one_id_for_another_content_is_refused(
    house: House, change: dict[str, JsonObject], named: str
) -> None:
    """The message names the difference."""
    chat = await house.chat([ECHO])
    await house.send(chat, "Hi", prompt_id="mine")
    await house.idle(chat)
    request = PromptRequest(**{"parts": text_prompt("Hi"), "prompt_id": "mine", **change})  # type: ignore[arg-type]

    with pytest.raises(PromptConflict, match=named):
        await house.engine.prompts.send(Address(kind="session", id=chat), request)


async def test_one_id_for_another_session_is_refused(house: House) -> None:
    """Ids are unique over all runs; the message names the session that had it."""
    chat = await house.chat([ECHO])
    other = await house.chat([ECHO])
    await house.send(chat, "Hi", prompt_id="mine")

    with pytest.raises(PromptConflict, match=f"to session '{chat}'"):
        await house.send(other, "Hi", prompt_id="mine")
    await house.idle(chat)


async def test_a_repeat_is_judged_against_the_admission_not_the_edit(house: House) -> None:
    """Editing a pending prompt does not make the first request a stranger."""
    chat = await house.chat([gate(), ECHO], [ECHO])
    await house.send(chat, "one")
    await house.reached()
    first = await house.send(chat, "two", prompt_id="mine")
    await house.engine.queue.edit(chat, "mine", parts=text_prompt("edited"))

    assert await house.send(chat, "two", prompt_id="mine") == first
    with pytest.raises(PromptConflict):
        await house.send(chat, "edited", prompt_id="mine")
    house.runtime.gates.open("gate")
    await house.idle(chat)

    assert (await house.texts(chat))[-1] == "assistant: edited"


async def test_a_repeat_is_the_same_after_a_restart(houses: Houses) -> None:
    """The answer was lost with the daemon; the client asks again."""
    house = await houses.open()
    chat = await house.chat([ECHO])
    first = await house.send(chat, "Hi", prompt_id="mine")
    await house.idle(chat)

    house = await houses.crash(house)

    assert await house.send(chat, "Hi", prompt_id="mine") == first
    await house.idle(chat)
    assert len(await house.found(chat, PromptPromoted)) == 1


@pytest.mark.parametrize(
    "parts",
    [
        (),
        ({"type": "image"},),
        ({"type": "text"},),
        ({"type": "file", "name": "a", "mime": "text/plain"},),
        ({"type": "file", "name": "a", "mime": "b", "path": "/a", "blob": "blob_1"},),
        text_prompt("x" * 3_000_000),
    ],
    ids=lambda parts: str(parts)[:40],
)
async def test_what_is_no_prompt_is_refused(house: House, parts: tuple[JsonObject, ...]) -> None:
    """Nothing is recorded for it."""
    chat = await house.chat([ECHO])
    before = await house.kinds(chat)

    with pytest.raises(InvalidPrompt):
        await house.engine.prompts.send(
            Address(kind="session", id=chat), PromptRequest(parts=parts)
        )

    assert await house.kinds(chat) == before


async def test_whom_nobody_knows_is_refused(house: House) -> None:
    """An unknown session or run, or an id that is none."""
    chat = await house.chat([ECHO])
    request = PromptRequest(parts=text_prompt("Hi"))

    with pytest.raises(UnknownSession):
        await house.send("ses_nobody", "Hi")
    with pytest.raises(UnknownRun):
        await house.engine.prompts.send(Address(kind="run", id="ses_nobody"), request)
    with pytest.raises(InvalidIdentifier):
        await house.send(chat, "Hi", prompt_id="../x")


async def test_a_prompt_to_a_run_goes_to_its_primary(house: House) -> None:
    """The receipt names the session that took it."""
    chat = await house.chat([ECHO])
    request = PromptRequest(parts=text_prompt("Hi"), prompt_id="mine")

    receipt = await house.engine.prompts.send(Address(kind="run", id=chat), request)
    await house.idle(chat)

    assert receipt.session_id == chat
    with pytest.raises(PromptConflict, match="to run"):
        await house.send(chat, "Hi", prompt_id="mine")


async def test_a_claim_counts_as_active_before_it_goes(house: House) -> None:
    """Who answers a request first and begins after it is never seen idle in between."""
    chat = await house.chat([ECHO])
    request = PromptRequest(parts=text_prompt("Hi"))

    admitted = await house.engine.prompts.admit(Address(kind="session", id=chat), request)
    assert house.engine.coordinator.status(chat).word == "starting"
    assert "turn-started" not in await house.kinds(chat)
    admitted.claim.go()
    admitted.claim.go()
    await house.idle(chat)

    assert (await house.texts(chat))[-1] == "assistant: Hi"


@pytest.mark.parametrize("part", range(4))
async def test_a_second_prompt_at_the_turns_end_is_never_lost(house: House, part: int) -> None:
    """A thousand rounds of a prompt that lands on the end of a turn: each runs once, in order."""
    chat = await house.chat([{"do": "end"}])
    sent = []
    ended = asyncio.Event()

    def note(told: Announcement) -> None:
        if isinstance(told, Committed) and any(e.kind == "turn-ended" for e in told.events):
            ended.set()

    house.engine.announcements.listen(note)
    for number in range(250):
        ended.clear()
        sent.append((await house.send(chat, f"a{part}.{number}")).id)
        await ended.wait()
        for _ in range(number % 4):
            await next_turn()
        sent.append((await house.send(chat, f"b{part}.{number}")).id)
        await house.idle(chat)

    assert [e.prompt_id for e in await house.found(chat, PromptPromoted)] == sent


async def test_a_completed_session_has_a_follow_up(house: House) -> None:
    """The first prompt opens it, later ones find it, and it continues the conversation."""
    chat = await house.chat([ECHO], [{"do": "recall"}])
    await house.turn(chat, "remember me")
    await house.engine.sessions.complete(chat)

    receipt = await house.send(chat, "again")
    await house.idle(receipt.session_id)
    second = await house.send(chat, "and again")
    await house.idle(second.session_id)

    assert receipt.session_id == second.session_id != chat
    following = await house.session(receipt.session_id)
    assert following.metadata["follow_up_of"] == chat
    items = await house.items(receipt.session_id, run_id=chat)
    assert "remember me" in str(items[1])
    assert (await house.session(chat)).status == "completed"


async def test_a_session_that_failed_takes_no_prompt(house: House) -> None:
    """It has ended; a fork or a new session goes on."""
    chat = await house.chat([ECHO])
    async with house.engine._parts.queues.hold(chat) as held:
        await held.append(about(chat, AgentStatusChanged(status="failed")))

    with pytest.raises(SessionTerminal, match="failed"):
        await house.send(chat, "Hi")


async def test_an_admission_happens_although_its_caller_is_cancelled(house: House) -> None:
    """A client that hangs up leaves no half of it: the next repeat finds it whole."""
    chat = await house.chat([ECHO])
    request = PromptRequest(parts=text_prompt("Hi"), prompt_id="mine")
    address = Address(kind="session", id=chat)
    task = asyncio.ensure_future(house.engine.prompts.admit(address, request))
    while "mine" not in str([t.get_name() for t in asyncio.all_tasks()]):
        await asyncio.wait({task}, timeout=0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    again = await house.send(chat, "Hi", prompt_id="mine")
    await house.idle(chat)

    assert again.id == "mine"
    assert len(await house.found(chat, PromptAdmitted)) == 1
