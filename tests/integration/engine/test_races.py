"""Races: two things at once, again and again; one of them is first, and everybody is told the truth."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path
from typing import Literal

import pytest

from spaced.domain.chat import ChatRequest
from spaced.domain.events.prompt import PromptAdmitted
from spaced.domain.events.run import RunDeleted
from spaced.domain.events.turn import TurnDispatched, TurnEnded
from spaced.engine.announcements import StatusChanged
from spaced.engine.doctor import examine
from spaced.engine.prompts import Address, PromptRequest
from spaced.errors import SpacedError
from spaced.log.read_models.lives import PROMPTS
from spaced.refusals import (
    AskExpired,
    PromptNotPending,
    SessionBusy,
    SessionDeleted,
    SessionExists,
    UnknownSession,
)
from spaced.testing.samples import next_turn
from spaced.testing.storage_harness import (
    FolderStorageHarness,
    MemoryStorageHarness,
    StorageHarness,
)
from spaced_sqlite.factory import SqliteStorageFactory
from tests.integration.engine.house import House, Houses, houses_over, say
from tests.integration.engine.model import parts_of

Outcome = object | SpacedError
ECHO = {"do": "echo"}

ROUNDS = 32
"""Of each of the sixteen ways in which two things can meet: over five hundred in all."""

either_first = pytest.mark.parametrize("first", [0, 1])
turns_between = pytest.mark.parametrize("turns", [0, 1, 2, 3])


@pytest.fixture(params=["memory", "sqlite"])
async def any_house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    """An engine whose appends take no time at all, or as long as a disk takes."""
    harness: StorageHarness = MemoryStorageHarness(tmp_path)
    if request.param == "sqlite":
        harness = FolderStorageHarness(SqliteStorageFactory(), tmp_path)
    async with houses_over(harness, tmp_path) as houses:
        yield await houses.open()
    await harness.close()


async def race(works: Sequence[Awaitable[object]], *, first: int, turns: int) -> list[Outcome]:
    """Begin two things, so many turns of the loop apart; return what each was told."""
    tasks: dict[int, asyncio.Future[Outcome]] = {}
    for place in (first, 1 - first):
        tasks[place] = asyncio.ensure_future(_told(works[place]))
        for _ in range(turns):
            await next_turn()
    return [await tasks[0], await tasks[1]]


async def _told(work: Awaitable[object]) -> Outcome:
    try:
        return await work
    except SpacedError as refusal:
        return refusal


async def open_gate(house: House, name: str) -> None:
    """Let an agent through."""
    house.runtime.gates.open(name)


async def send_gated(house: House, chat: str, name: str, more: str = "") -> None:
    """Send a prompt whose turn waits at a gate of the prompt's name."""
    request = PromptRequest(parts=parts_of("gate", name, more), prompt_id=name)
    await house.engine.prompts.send(Address(kind="session", id=chat), request)


async def status_of(house: House, prompt_id: str) -> object:
    """Return what has become of a prompt."""
    (row,) = (await house.storage.get_rows(PROMPTS.table.name, [(prompt_id,)])).rows
    return row["status"]


def handed_over(house: House) -> Counter[str]:
    """Count how often each prompt was handed to an agent."""
    journal = house.folder / "state" / "scripted" / "deliveries.jsonl"
    lines = journal.read_text().splitlines() if journal.exists() else []
    return Counter(name for line in lines for name in json.loads(line)["prompt_ids"])


async def check_whole(house: House) -> None:
    """Nothing was handed over twice or without a record, and rows are what the log says."""
    recorded: Counter[str] = Counter()
    for stream in await house.storage.list_streams(after="", limit=1000):
        for dispatched in await house.found(stream.stream, TurnDispatched):
            recorded.update(dispatched.prompt_ids)
    handed = handed_over(house)
    assert set(handed.values()) <= {1}
    assert set(recorded.values()) <= {1}
    assert handed.keys() <= recorded.keys()
    assert [finding async for finding in examine(house.storage)] == []


@either_first
@turns_between
async def test_an_interrupt_and_an_answer(any_house: House, first: int, turns: int) -> None:
    """The ask is answered or has expired, never both, and the session is idle in the end."""
    house = any_house
    chat = await house.chat([{"do": "ask_permission", "name": "t"}, say("done")])
    engine = house.engine
    for number in range(ROUNDS):
        await house.send(chat, f"round {number}")
        ask_id = await house.until_asked(chat)

        answer = engine.asks.answer_permission(ask_id, option_id="allow")
        _, answered = await race([engine.control.interrupt(chat), answer], first=first, turns=turns)
        await house.idle(chat)

        status = (await engine.asks.get(ask_id)).status
        assert status == ("expired" if isinstance(answered, AskExpired) else "answered")
        assert isinstance(answered, AskExpired) or not isinstance(answered, SpacedError)
        assert not await engine.asks.open(chat)
        assert (await house.session(chat)).status == "idle"
    assert len(await house.found(chat, TurnEnded)) == ROUNDS
    await check_whole(house)


@either_first
@turns_between
async def test_an_interrupt_and_a_turns_end(any_house: House, first: int, turns: int) -> None:
    """What waited goes on, or waits in a queue that is paused; nothing is in between."""
    house = any_house
    chat = await house.chat()
    for number in range(ROUNDS):
        one, two, three = (f"{name}{number}" for name in ("one", "two", "three"))
        await send_gated(house, chat, one)
        await house.reached(one)
        await send_gated(house, chat, two)

        works = [house.engine.control.interrupt(chat), open_gate(house, one)]
        was_at_work, _ = await race(works, first=first, turns=turns)
        house.runtime.gates.open(two)
        await house.idle(chat)

        assert was_at_work is True
        waiting = [prompt.id for prompt in await house.engine.queue.pending(chat)]
        assert waiting in ([], [two])
        assert (await house.session(chat)).is_queue_paused == bool(waiting)
        house.runtime.gates.open(three)
        await send_gated(house, chat, three)
        await house.idle(chat)
        assert {await status_of(house, name) for name in (one, two, three)} == {"delivered"}
    await check_whole(house)


@either_first
@turns_between
@pytest.mark.parametrize("is_connected", [True, False])
async def test_an_interrupt_and_a_turns_beginning(
    any_house: House, first: int, turns: int, is_connected: bool
) -> None:
    """The prompt waits in a paused queue, or it was handed over; never neither, never both."""
    house = any_house
    chat = await house.chat([ECHO])
    for number in range(ROUNDS // 2):
        if not is_connected:
            await house.engine.control.reset(chat)
        name, last = f"one{number}", f"two{number}"

        works = [house.engine.control.interrupt(chat), house.send(chat, "one", prompt_id=name)]
        was_at_work, _ = await race(works, first=first, turns=turns)
        await house.idle(chat)

        waiting = [prompt.id for prompt in await house.engine.queue.pending(chat)]
        assert waiting in (([], [name]) if was_at_work else ([],))
        assert (await house.session(chat)).is_queue_paused == bool(waiting)
        assert handed_over(house)[name] == (not waiting)
        await house.turn(chat, "two", prompt_id=last)
        assert {await status_of(house, each) for each in (name, last)} == {"delivered"}
    await check_whole(house)


Change = Literal["cancel", "edit", "move"]


@either_first
@pytest.mark.parametrize("change", ["cancel", "edit", "move"])
async def test_a_change_and_a_promotion(house: House, first: int, change: Change) -> None:
    """The change holds, or its client is told that it is too late."""
    chat = await house.chat()
    for number in range(48):
        one, two, three = (f"{name}{number}" for name in ("one", "two", "three"))
        await send_gated(house, chat, one)
        await house.reached(one)
        await send_gated(house, chat, two, "first words")
        await send_gated(house, chat, three)
        house.runtime.gates.open(two)
        house.runtime.gates.open(three)

        works = [_change(house, chat, two, change), open_gate(house, one)]
        told, _ = await race(works, first=first, turns=number % 16)
        await house.idle(chat)

        is_late = isinstance(told, PromptNotPending)
        assert is_late or not isinstance(told, SpacedError)
        await _check_change(house, chat, (two, three), change, is_late=is_late)
    await check_whole(house)


async def _change(house: House, chat: str, name: str, change: Change) -> None:
    queue = house.engine.queue
    match change:
        case "cancel":
            await queue.cancel(chat, name)
        case "edit":
            await queue.edit(chat, name, parts=parts_of("gate", name, "other words"))
        case "move":
            await queue.move(chat, name, to_index=1)


async def _check_change(
    house: House, chat: str, names: tuple[str, str], change: Change, *, is_late: bool
) -> None:
    two, three = names
    handed = [name for name in handed_over(house) if name in names]
    match change:
        case "cancel":
            assert await status_of(house, two) == ("delivered" if is_late else "cancelled")
            assert handed == ([two, three] if is_late else [three])
        case "edit":
            (shown,) = [text for text in await house.texts(chat) if f'"{two}"' in text]
            assert ("first words" in shown) == is_late
            assert handed == [two, three]
        case "move":
            assert handed == ([two, three] if is_late else [three, two])


async def check_deleted(house: House, chat: str) -> None:
    """Nothing of it goes on, what waited is cancelled, and its log is closed."""
    with pytest.raises(UnknownSession):
        await house.session(chat)
    assert house.engine.coordinator.status(chat).word == "idle"
    assert house.engine.executions.live(chat) is None
    assert (await house.events(chat))[-1:] == await house.found(chat, RunDeleted)
    handed = handed_over(house)
    for admitted in await house.found(chat, PromptAdmitted):
        status = await status_of(house, admitted.prompt_id)
        assert status in ("delivered", "cancelled")
        assert handed[admitted.prompt_id] <= (status == "delivered")


@either_first
@pytest.mark.parametrize("force", [True, False])
async def test_a_deletion_and_a_prompt(house: House, first: int, force: bool) -> None:
    """The prompt is admitted and goes with the chat, or it is refused."""
    for number in range(48):
        chat = await house.chat([ECHO])
        if number % 2:
            await house.turn(chat)

        works = [house.engine.deletions.delete(chat, force=force), house.send(chat, "one")]
        deleted, sent = await race(works, first=first, turns=number // 2)
        await house.idle(chat)

        assert not isinstance(sent, SpacedError) or isinstance(sent, SessionDeleted)
        if isinstance(deleted, SessionBusy):
            assert not force
            assert not isinstance(sent, SpacedError)
            assert (await house.session(chat)).status == "idle"
        else:
            assert deleted is None
            await check_deleted(house, chat)
    await check_whole(house)


@either_first
async def test_a_deletion_and_a_turns_end(house: House, first: int) -> None:
    """The turn ends once; what waited behind it never begins."""
    for number in range(48):
        chat = await house.chat()
        one, two = f"one{number}", f"two{number}"
        await send_gated(house, chat, one)
        await house.reached(one)
        await send_gated(house, chat, two)

        works = [house.engine.deletions.delete(chat, force=True), open_gate(house, one)]
        deleted, _ = await race(works, first=first, turns=number % 32)

        assert deleted is None
        await check_deleted(house, chat)
        ends = await house.found(chat, TurnEnded)
        assert len(ends) == len({end.turn_id for end in ends})
    await check_whole(house)


async def test_two_deletions(house: House) -> None:
    """One of them deletes, the other one is told so or has deleted nothing more."""
    for number in range(48):
        chat = await house.chat()
        one = f"one{number}"
        await send_gated(house, chat, one)
        await house.reached(one)
        deletions = house.engine.deletions

        works = [deletions.delete(chat, force=True), deletions.delete(chat, force=True)]
        told = await race(works, first=number % 2, turns=number // 2)

        assert sorted(map(type, told), key=str) == sorted((type(None), SessionDeleted), key=str)
        await check_deleted(house, chat)
    await check_whole(house)


async def test_many_clients_of_many_chats(houses: Houses) -> None:
    """Each chat is served in its order, and never more turns run at once than is set."""
    house = await houses.open(concurrent_turns=8)
    chats = [await house.chat([ECHO]) for _ in range(64)]

    async def client(chat: str) -> None:
        for number in range(3):
            await house.send(chat, f"{number} of {chat}")
            await next_turn()

    await asyncio.gather(*map(client, chats))
    await asyncio.gather(*map(house.idle, chats))

    for chat in chats:
        said = [text for text in await house.texts(chat) if text.startswith("assistant")]
        assert said == [f"assistant: {number} of {chat}" for number in range(3)]
    assert _most_at_once(house) == 8
    await check_whole(house)


def _most_at_once(house: House) -> int:
    running: set[str] = set()
    most = 0
    for said in house.heard:
        if isinstance(said, StatusChanged):
            (running.add if said.status.word == "busy" else running.discard)(said.session_id)
            most = max(most, len(running))
    return most


@either_first
@pytest.mark.parametrize("is_same", [True, False])
async def test_two_creations_of_one_id(house: House, first: int, is_same: bool) -> None:
    """The same request twice makes one chat; another content is refused."""
    profile_id = await house.profile([ECHO])
    titles = ("title", "title" if is_same else "other")
    requests = [
        ChatRequest(profile_id=profile_id, directory=str(house.workplace), title=title)
        for title in titles
    ]
    for number in range(48):
        name = f"chat-{number}"
        works = [house.engine.sessions.create(each, session_id=name) for each in requests]
        told = await race(works, first=first, turns=number % 8)

        refused = [each for each in told if isinstance(each, SessionExists)]
        assert len(refused) == (not is_same)
        assert len([each for each in told if isinstance(each, SpacedError)]) == len(refused)
        winner = titles[first if first in (0, 1) and told[first] not in refused else 1 - first]
        assert (await house.session(name)).title == winner
        assert (await house.kinds(name)).count("run-created") <= 1
    await check_whole(house)
