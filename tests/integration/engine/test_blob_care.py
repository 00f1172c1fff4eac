"""Blobs that nothing names any more are removed, and no other one, whatever goes on meanwhile."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from spaced.domain.event_codec import CODEC
from spaced.domain.events.transcript import AgentItemAppended, AgentItemUpserted
from spaced.domain.json_values import JsonObject
from spaced.engine.blob_care import GRACE_MS, BlobCare, Collected, blobs_named_in
from spaced.engine.journal import Entry, Journal, Statement
from spaced.engine.prompts import Address, PromptRequest
from spaced.errors import UnknownBlob
from spaced.log.read_models.catalogue import OPEN_TAIL
from spaced.log.table import PutRow, Row
from spaced.testing.samples import EVERYTHING, event, write
from tests.integration.engine.house import House, Houses, say

ECHO = {"do": "echo"}


async def _blobs(house: House) -> set[str]:
    return set(await house.storage.list_blobs(limit=EVERYTHING))


async def _old_blob(house: House, content: bytes) -> str:
    """Store a blob that the storage takes for old."""
    blob_id = await house.storage.put_blob(content)
    await house.storage.reclaim([])
    return blob_id


async def _record(house: House, chat: str, *items: JsonObject) -> None:
    version = await house.storage.version(chat)
    told = [Statement(event=AgentItemAppended(item=item), session_id=chat) for item in items]
    entry = Entry(stream=chat, expected_version=version, statements=told)
    await Journal(house.storage, house.clock).append(entry)


def _file(blob_id: str) -> JsonObject:
    return {"type": "file", "name": "x.png", "mime": "image/png", "blob": blob_id}


def _care(house: House) -> BlobCare:
    return BlobCare(house.storage, house.clock)


async def test_blobs_that_nothing_names_are_removed(house: House) -> None:
    """It says how many and how many bytes, and how much was looked at."""
    await _old_blob(house, b"12345")
    events = len(await house.log())

    collected = await _care(house).collect()

    assert collected == Collected(
        blobs=1, bytes=5, scanned_blobs=1, scanned_events=events, waiting=0
    )
    assert await _blobs(house) == set()


async def test_blobs_that_anything_names_stay(house: House) -> None:
    """A pending prompt, a delivered one, items of all kinds, and rows that no event tells."""
    chat = await house.chat([ECHO])
    pending, delivered, output, arguments, part, deep, tail = [
        await _old_blob(house, b"blob %d" % n) for n in range(7)
    ]
    for blob_id, wakes in ((delivered, True), (pending, False)):
        request = PromptRequest(parts=(_file(blob_id),), wake=wakes)
        await house.engine.prompts.send(Address(kind="session", id=chat), request)
        await house.idle(chat)
    await _record(
        house,
        chat,
        {"id": "a", "type": "tool-result", "output": "…", "blob": output},
        {"id": "b", "type": "tool-call", "arguments": f'{{"blob":"{arguments}","bytes":9}}'},
        {"id": "c", "type": "message", "role": "user", "content": "", "parts": [_file(part)]},
        {"id": "d", "type": "event", "event": "x", "details": {"a": [{"b": {"blob": deep}}]}},
    )
    row: Row = {"session_id": chat, "item_id": "e", "field": "x", "stream": chat, "offset": 0}
    await house.storage.append([], [PutRow(table=OPEN_TAIL.name, row={**row, "text": tail})])
    everything = await _blobs(house)
    unused = await _old_blob(house, b"unused")

    collected = await _care(house).collect()

    assert collected.blobs == 1
    assert await _blobs(house) == everything == {*everything} - {unused}
    assert {pending, delivered, output, arguments, part, deep, tail} == everything


async def test_large_values_of_an_agent_stay_with_their_item(house: House) -> None:
    """What the recording moved into blobs is named by what it left."""
    item = {"type": "event", "event": "big", "details": {"text": "x" * 100_000}}
    chat = await house.chat([{"do": "raw", "item": item, "source": "s"}])
    await house.turn(chat)
    await house.storage.reclaim([])
    stored = await _blobs(house)

    await _care(house).collect()

    assert len(stored) == 1
    assert await _blobs(house) == stored


async def test_blobs_of_a_deleted_chat_stay_until_it_is_gone_for_good(house: House) -> None:
    """And go with it, but for those that another chat names too."""
    chat, other = await house.chat([ECHO]), await house.chat([ECHO])
    own, shared = await _old_blob(house, b"own"), await _old_blob(house, b"shared")
    for one, blob_ids in ((chat, (own, shared)), (other, (shared,))):
        request = PromptRequest(parts=tuple(map(_file, blob_ids)))
        await house.engine.prompts.send(Address(kind="session", id=one), request)
        await house.idle(one)
    care = _care(house)

    await house.engine.deletions.delete(chat)
    await care.collect()
    assert await _blobs(house) == {own, shared}
    await house.engine.deletions.purge(chat)
    await care.collect()

    assert await _blobs(house) == {shared}


async def test_a_blob_on_its_way_survives_clean_ups(house: House) -> None:
    """The storage spares it in the first one, and the hour spares it in those that follow."""
    care = _care(house)
    blob_id = await house.storage.put_blob(b"attachment of a prompt that is being written")

    for _ in range(5):
        collected = await care.collect()
        house.clock.advance(milliseconds=1000)
        assert (collected.blobs, collected.waiting) == (0, 1)
        assert await house.storage.get_blob(blob_id)
    house.clock.advance(milliseconds=GRACE_MS)

    assert (await care.collect()).blobs == 1
    with pytest.raises(UnknownBlob):
        await house.storage.get_blob(blob_id)


async def test_a_blob_that_is_stored_during_a_clean_up_survives_the_next_ones(house: House) -> None:
    """The storage takes it for old right away, though nobody could have named it yet."""
    chat = await house.chat([ECHO])
    put: list[str] = []

    class StoresMeanwhile:
        def __getattr__(self, name: str) -> Any:
            return getattr(house.storage, name)

        async def reclaim(self, unused: Sequence[str]) -> Any:
            if not put:
                put.append(await house.storage.put_blob(b"late"))
            return await house.storage.reclaim(unused)

    care = BlobCare(StoresMeanwhile(), house.clock)
    for _ in range(3):
        await care.collect()
    await _record(house, chat, {"id": "a", "type": "message", "parts": [_file(put[0])]})
    house.clock.advance(milliseconds=GRACE_MS)
    await care.collect()

    assert await _blobs(house) == set(put)


async def test_an_event_that_comes_during_the_scan_counts(house: House) -> None:
    """The log is read up to its end, wherever that is by then."""
    chat = await house.chat([ECHO])
    blob_id = await _old_blob(house, b"named at the last moment")
    pages = 0

    class NamesMeanwhile:
        def __getattr__(self, name: str) -> Any:
            return getattr(house.storage, name)

        async def read_all(self, **where: Any) -> Any:
            nonlocal pages
            page = await house.storage.read_all(**where)
            pages += 1
            if pages == 1:
                await _record(house, chat, {"id": "a", "type": "x", "blob": blob_id})
            return page

    await BlobCare(NamesMeanwhile(), house.clock).collect()

    assert await _blobs(house) == {blob_id}


async def test_clean_ups_and_uploads_at_once_lose_nothing(house: House) -> None:
    """Prompts with attachments come while one clean-up follows the other."""
    chat = await house.chat(*[[say("ok")]] * 30)
    care = _care(house)
    is_over = asyncio.Event()

    async def clean_up() -> None:
        while not is_over.is_set():
            await care.collect()

    async def upload(number: int) -> str:
        blob_id = await house.storage.put_blob(b"picture %d" % number)
        for _ in range(number % 3):
            await house.storage.head()
        request = PromptRequest(parts=(_file(blob_id),))
        await house.engine.prompts.send(Address(kind="session", id=chat), request)
        return blob_id

    async with asyncio.TaskGroup() as group:
        group.create_task(clean_up())
        named = [await upload(number) for number in range(30)]
        is_over.set()
    await house.idle(chat)
    house.clock.advance(milliseconds=GRACE_MS)
    await care.collect()

    assert await _blobs(house) == set(named)


async def test_clean_ups_at_once_are_one_after_the_other(house: House) -> None:
    """Else the second one would take for old what the first one has just spared."""
    await house.storage.put_blob(b"new")
    care = _care(house)

    done = await asyncio.gather(*(care.collect() for _ in range(4)))

    assert [one.blobs for one in done] == [0, 0, 0, 0]


async def test_a_clean_up_reads_the_log_in_pages(houses: Houses) -> None:
    """And names are found on every one of them."""
    house = await houses.open()
    chat = await house.chat([ECHO])
    blob_ids = [await _old_blob(house, b"%d" % n) for n in range(6)]
    items = [{"id": f"f{n}", "type": "message", "content": "x"} for n in range(900)]
    for place, blob_id in zip((0, 199, 200, 500, 899), blob_ids[:5], strict=True):
        items[place]["blob"] = blob_id
    for start in range(0, len(items), 300):
        await _record(house, chat, *items[start : start + 300])

    house = await houses.restart(house)
    collected = await _care(house).collect()

    assert collected.blobs == 1
    assert collected.scanned_events == len(await house.log())
    assert await _blobs(house) == set(blob_ids[:5])


async def test_a_broken_body_names_its_blobs_too(house: House) -> None:
    """Whatever cannot be read today may be read by another version."""
    chat = await house.chat([ECHO])
    blob_id = await _old_blob(house, b"x")
    version = await house.storage.version(chat)
    bad = event(b'{"broken": "' + blob_id.encode(), kind="unheard-of", session_id=chat)
    await house.storage.append([write(chat, version, bad)])

    await _care(house).collect()

    assert await _blobs(house) == {blob_id}


def test_names_are_found_in_any_body() -> None:
    """Also beside each other and inside of a text that is JSON itself."""
    one, two = "blob_" + "0a" * 32, "blob_" + "f1" * 32
    item = {"id": "a", "arguments": f'{{"blob":"{one}"}}', "blob": two}

    assert blobs_named_in(CODEC.encode(AgentItemUpserted(item=item))) == {one, two}
    assert blobs_named_in(f"{one}{two}".encode()) == {one, two}
    assert blobs_named_in(b"blob_ blob_12 " + b"BLOB_" + b"0" * 64) == set()
