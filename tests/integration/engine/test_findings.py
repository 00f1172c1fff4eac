"""Cases that the state machine, the race tests or a close look have found: each stays found."""

import asyncio

import pytest

from spaced.domain.events.prompt import PromptAdmitted
from spaced.domain.events.run import RunDeleted
from spaced.domain.events.transcript import AgentStatusChanged
from spaced.domain.events.turn import TurnDispatched, TurnEnded
from spaced.engine.doctor import examine
from spaced.engine.held_run import about
from spaced.engine.prompts import Address, PromptRequest
from spaced.refusals import SessionTerminal
from spaced.testing.samples import next_turn
from tests.integration.engine.house import House, Houses, gate, say, text_prompt

ECHO = {"do": "echo"}


async def test_a_turn_that_the_agent_does_not_have_is_abandoned(houses: Houses) -> None:
    """It lived on but had not taken the prompt: nobody would ever say how the turn ended."""
    house = await houses.open()
    refusing = [{"do": "not_taken", "after_ms": 60_000}, say("never")]
    chat = await house.chat([say("first")], refusing, options={"survives": True})
    await house.turn(chat, "one")
    await house.send(chat, "two")
    await house.until_word(chat, "retry")

    house = await houses.crash(house)
    await house.idle(chat)

    ends = await house.found(chat, TurnEnded)
    assert [end.outcome for end in ends] == ["completed", "abandoned"]
    assert len(await house.found(chat, TurnDispatched)) == 2
    assert [finding async for finding in examine(house.storage)] == []


async def test_a_turn_that_was_not_handed_over_in_time_is_abandoned(houses: Houses) -> None:
    """The daemon died between the mark and the hand-over; the agent lives on without the turn."""
    points: list[str] = []
    house = await houses.open(reach=points.append)
    chat = await house.chat([say("first")], [ECHO], options={"survives": True})
    await house.turn(chat, "one")
    live = house.engine.executions.live(chat)
    assert live is not None
    live.connection.start_turn = _never  # type: ignore[union-attr, method-assign]
    await house.send(chat, "two")
    async with asyncio.timeout(10):
        while points.count("dispatch-recorded") < 2:
            await next_turn()

    house = await houses.crash(house)
    await house.idle(chat)

    ends = await house.found(chat, TurnEnded)
    assert [end.outcome for end in ends] == ["completed", "abandoned"]
    await house.turn(chat, "three")
    assert (await house.texts(chat))[-1] == "assistant: three"


async def _never(turn: object) -> None:
    del turn
    await asyncio.Event().wait()


async def test_a_deleted_follow_up_takes_no_prompt(house: House) -> None:
    """A prompt that went to it would be accepted and never answered: another one is opened."""
    chat = await house.chat([ECHO])
    await house.turn(chat, "one")
    await house.engine.sessions.complete(chat)
    first = await house.send(chat, "two")
    await house.idle(first.session_id)
    await house.engine.deletions.delete(first.session_id)

    second = await house.send(chat, "three")
    await house.idle(second.session_id)

    assert second.session_id not in (chat, first.session_id)
    items = await house.items(second.session_id, run_id=chat)
    assert [item["content"] for item in items if item.get("role") == "assistant"] == ["three"]


async def test_an_answer_to_a_completed_sessions_question_goes_to_its_follow_up(
    house: House,
) -> None:
    """As any other prompt does; in the completed session nobody would ever read it."""
    asking = {"do": "question", "wait": False, "questions": [{"text": "Which?"}]}
    chat = await house.chat([asking], [ECHO])
    await house.turn(chat, "one")
    (ask,) = await house.engine.asks.open(chat)
    await house.engine.sessions.complete(chat)

    answered = await house.engine.asks.answer_question(ask.id, [["this one"]])

    assert answered.status == "answered"
    admitted = [event for event in await house.recorded(chat) if event.kind == "prompt-admitted"]
    follow_up = admitted[-1].session_id
    assert follow_up not in (None, chat)
    await house.idle(str(follow_up))
    items = await house.items(str(follow_up), run_id=chat)
    assert "this one" in str([item for item in items if item.get("role") == "assistant"])


async def test_a_repeat_gets_its_first_answer_although_the_session_has_failed(
    house: House,
) -> None:
    """It was accepted and answered; only what is new is refused."""
    chat = await house.chat([ECHO])
    first = await house.send(chat, "one", prompt_id="mine")
    await house.idle(chat)
    async with house.engine._parts.queues.hold(chat) as held:
        await held.append(about(chat, AgentStatusChanged(status="failed")))

    assert await house.send(chat, "one", prompt_id="mine") == first
    with pytest.raises(SessionTerminal):
        await house.send(chat, "two", prompt_id="other")
    await house.idle(chat)
    assert len(await house.found(chat, PromptAdmitted)) == 1


@pytest.mark.parametrize("point", ["turn-begun", "execution-recorded", "dispatch-recorded"])
async def test_nothing_is_recorded_after_a_deletion(houses: Houses, point: str) -> None:
    """Wherever the turn was on its way: what is cancelled is not handed over."""
    deleting: list[asyncio.Future[None]] = []

    def delete_there(reached: str) -> None:
        if reached == point and not deleting:
            work = house.engine.deletions.delete(chat, force=True)
            deleting.append(asyncio.ensure_future(work))

    house = await houses.open(reach=delete_there)
    chat = await house.chat([gate(), ECHO])
    await house.send(chat, "one", prompt_id="mine")
    await house.idle(chat)
    await deleting[0]

    kinds = await house.kinds(chat)
    assert kinds[-1] == "run-deleted"
    assert len(await house.found(chat, RunDeleted)) == 1
    handed = (house.folder / "state" / "scripted" / "deliveries.jsonl").exists()
    assert handed <= ("turn-dispatched" in kinds)
    assert house.engine.executions.live(chat) is None


@pytest.mark.parametrize("turns", range(0, 40, 3))
async def test_a_stop_without_grace_ends_whatever_begins(houses: Houses, turns: int) -> None:
    """Whether it finds a turn on its way or not, it ends, and what waits goes after the start."""
    house = await houses.open(stop_grace_ms=0)
    chat = await house.chat([gate(), ECHO])
    await house.send(chat, "one", prompt_id="mine")
    for _ in range(turns):
        await next_turn()

    await asyncio.wait_for(house.engine.stop(), 20)

    ends = [end.outcome for end in await house.found(chat, TurnEnded)]
    assert ends in ([], ["not-dispatched"], ["daemon-stopped"])
    assert len(await house.found(chat, TurnDispatched)) == (ends == ["daemon-stopped"])


async def test_a_stop_is_heard_by_a_turn_that_waits_for_its_beginning(houses: Houses) -> None:
    """It was forgotten with what came before the turn: the turn began and the stop never ended."""
    house = await houses.open(stop_grace_ms=0)
    chat = await house.chat([gate()])
    queues, is_over = house.engine._parts.queues, asyncio.Event()
    request = PromptRequest(parts=text_prompt("one"), prompt_id="mine")
    admitted = await house.engine.prompts.admit(Address(kind="session", id=chat), request)

    async def stand_in_the_way() -> None:
        async with queues.hold(chat):
            await is_over.wait()

    async with queues.hold(chat):
        admitted.claim.go()
        await _some_turns()  # it asks for the run, to see whether there is anything to do
        standing = asyncio.ensure_future(stand_in_the_way())
        await _some_turns()
    await _some_turns()  # it asks again, to begin
    stopping = asyncio.ensure_future(house.engine.stop())
    await _some_turns()
    is_over.set()
    await asyncio.wait_for(stopping, 10)

    await standing
    assert "turn-started" not in await house.kinds(chat)
    house = await houses.restart(house)
    await house.reached()
    house.runtime.gates.open("gate")
    await house.idle(chat)
    assert [end.outcome for end in await house.found(chat, TurnEnded)] == ["completed"]


async def _some_turns() -> None:
    for _ in range(10):
        await next_turn()


async def test_the_queue_of_a_completed_session_stays_as_it_is(house: House) -> None:
    """Whoever has ended takes no order for a queue that will never be used."""
    chat = await house.chat([ECHO])
    await house.turn(chat, "one")
    await house.engine.sessions.complete(chat)
    before = await house.kinds(chat)

    for command in (house.engine.queue.pause, house.engine.queue.resume):
        with pytest.raises(SessionTerminal):
            await command(chat)

    assert await house.kinds(chat) == before


async def test_the_agent_of_a_follow_up_outlives_the_daemon(houses: Houses) -> None:
    """It continues the completed session's conversation, and is found again as its own one."""
    house = await houses.open()
    chat = await house.chat([say("first")], [gate(), say("second")], options={"survives": True})
    await house.turn(chat, "one")
    await house.engine.sessions.complete(chat)
    follow_up = (await house.send(chat, "two")).session_id
    await house.reached()

    house = await houses.crash(house)
    await house.reached()
    house.runtime.gates.open("gate")
    await house.idle(follow_up)

    ends = await house.found(chat, TurnEnded)
    assert [end.outcome for end in ends] == ["completed", "completed"]
