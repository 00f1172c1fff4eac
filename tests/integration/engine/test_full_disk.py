"""A disk without space: what was accepted stays, nothing is accepted that cannot be kept."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from spaced.domain.events.turn import TurnEnded
from spaced.engine.doctor import examine
from spaced.errors import StorageFull
from spaced.log.record import StreamWrite
from spaced.log.table import RowWrite
from spaced.storage.protocol import Appended, Storage
from spaced.testing.samples import next_turn
from tests.integration.engine.house import House, Houses, gate, say, text_prompt


class FillingStorage:
    """A storage whose disk is full while the test says so."""

    def __init__(self, storage: Storage) -> None:
        """Begin with space."""
        self.is_full = False
        self.refused = 0
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        """Do everything else as the storage does."""
        return getattr(self._storage, name)

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        """Append if there is space."""
        if self.is_full:
            self.refused += 1
            raise StorageFull("there is no space left on the disk")
        return await self._storage.append(writes, rows, bulk=bulk)


async def _house(houses: Houses) -> tuple[House, FillingStorage]:
    first = await houses.open()
    storage = FillingStorage(first.storage)
    return await houses.open(storage=storage), storage


async def test_an_admission_is_refused_with_a_sentence(houses: Houses) -> None:
    """Nothing of it is kept, and the same prompt is admitted once there is space."""
    house, storage = await _house(houses)
    chat = await house.chat([{"do": "echo"}])

    storage.is_full = True
    with pytest.raises(StorageFull):
        await house.send(chat, "Hi", prompt_id="mine")
    assert house.engine.coordinator.active() == {}
    storage.is_full = False
    await house.turn(chat, "Hi", prompt_id="mine")

    assert await house.texts(chat) == ["user: Hi", "assistant: Hi"]


async def test_a_running_turn_is_interrupted_and_its_end_is_written_later(houses: Houses) -> None:
    """The agent does not go on unseen; when there is space the log says what happened."""
    house, storage = await _house(houses)
    chat = await house.chat([say("before"), gate(), say("lost", pieces=2), gate("b")], [say("ok")])
    await house.send(chat, "one")
    await house.reached()

    storage.is_full = True
    house.runtime.gates.open("gate")
    async with asyncio.timeout(10):
        while house.engine.executions.live(chat) is not None:
            await next_turn()
    await house.pass_time(0)
    storage.is_full = False
    await house.pass_time(1000)
    await house.idle(chat)

    (end,) = await house.found(chat, TurnEnded)
    assert (end.outcome, end.problem.code) == ("interrupted", "storage-full")
    await house.turn(chat, "two")
    assert (await house.texts(chat))[-1] == "assistant: ok"
    assert [finding async for finding in examine(house.storage)] == []


async def test_what_could_not_begin_begins_when_there_is_space(houses: Houses) -> None:
    """A drain that met the full disk tries again by itself."""
    house, storage = await _house(houses)
    chat = await house.chat([{"do": "echo"}])
    await house.send(chat, "one", wake=False, prompt_id="mine")
    await house.engine.queue.edit(chat, "mine", delivery="steer")
    await house.idle(chat)

    admitted = asyncio.ensure_future(house.engine.queue.resume(chat))
    await admitted
    storage.is_full = True
    await house.idle(chat)
    assert house.engine.coordinator.problems[chat].code == "storage-full"
    storage.is_full = False
    await house.pass_time(1000)
    await house.until_word(chat, "starting")
    await house.idle(chat)

    assert (await house.texts(chat))[-1] == "assistant: one"
    assert await house.engine.queue.pending(chat) == []
    assert house.engine.coordinator.problems == {}


async def test_reading_goes_on(houses: Houses) -> None:
    """What is there can be read while nothing can be written."""
    house, storage = await _house(houses)
    chat = await house.chat([say("Hello")])
    await house.turn(chat, "Hi")

    storage.is_full = True

    assert await house.texts(chat) == ["user: Hi", "assistant: Hello"]
    assert await house.engine.queue.pending(chat) == []
    assert text_prompt("x")


async def test_a_start_on_a_full_disk_closes_what_is_open_later(houses: Houses) -> None:
    """Reading works from the start on; with space the abandoned turn is recorded."""
    house = await houses.open()
    chat = await house.chat([gate()], [{"do": "echo"}])
    await house.send(chat, "one")
    await house.reached()
    captured = houses._harness.capture(house.storage)
    storage = FillingStorage(await houses._harness.open_captured(captured))

    storage.is_full = True
    later = await houses.open(storage=storage)
    assert await later.texts(chat) == ["user: one"]
    await later.pass_time(0)
    storage.is_full = False
    await later.pass_time(1000)
    async with asyncio.timeout(10):
        while not await later.found(chat, TurnEnded):
            pass
    await later.turn(chat, "two")

    assert (await later.texts(chat))[-1] == "assistant: two"
