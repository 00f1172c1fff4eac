"""Proves that an append whose caller gives up happens once or not at all, and harms nobody."""

import asyncio
from collections.abc import Sequence

from spaced.log.table import PutRow
from spaced.storage.protocol import Appended, Storage
from spaced.testing.samples import attempt, event, next_turn, read_log, start, write
from spaced.testing.storage_harness import StorageHarness
from spaced.testing.storage_topics.announcing import Listener
from spaced.testing.storage_topics.fixtures import StorageFixtures
from spaced.testing.tables import put_card

PATIENCE = 8
"""Turns of the event loop after which a caller has given up at the latest."""


async def give_up(storage: Storage, stream: str, *, turns: int) -> bool:
    """Begin an append of two events and a row, cancel it later; tell whether it was answered."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(storage.append([start(stream, count=2)], [row_of(stream)]))
        for _ in range(turns):
            await next_turn()
        task.cancel()
    return not task.cancelled()


def row_of(stream: str) -> PutRow:
    """Return the row that goes with a stream."""
    return put_card(stream, stream=stream, content=stream)


async def is_there(storage: Storage, stream: str) -> bool:
    """Tell whether an append happened; fail if it is half there."""
    events = await storage.read_stream(stream)
    rows = (await storage.get_rows("card", [(stream,)])).rows
    hits = await storage.search("card", "run", where={"card_id": stream}, limit=9)
    found = (len(events), len(rows), len(hits.keys))
    assert found in {(0, 0, 0), (2, 1, 1)}, f"{stream}: {found}"
    return bool(events)


class CancellingPromises(StorageFixtures):
    """Giving up is the caller's affair, never the log's."""

    async def test_a_cancelled_append_happens_once_or_not_at_all(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Whenever its caller gives up; and what was answered is there."""
        answered = {
            f"run-{turns}": await give_up(storage, f"run-{turns}", turns=turns)
            for turns in range(PATIENCE)
        }
        await storage.append([start("last")])
        reopened = await harness.reopen(storage)
        for stream, was_answered in answered.items():
            assert await is_there(reopened, stream) or not was_answered

    async def test_an_append_cancelled_before_it_began_never_happens(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """A task that never ran has submitted nothing."""
        assert not await give_up(storage, "run-1", turns=0)
        reopened = await harness.reopen(storage)
        assert not await is_there(reopened, "run-1")

    async def test_what_happened_is_announced_although_its_caller_is_gone(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Listeners hear of exactly what is in the log, whoever still waits for it."""
        listener = storage.on_committed = Listener()
        for turns in range(PATIENCE):
            await give_up(storage, f"run-{turns}", turns=turns)
        await storage.append([start("last")])
        reopened = await harness.reopen(storage)
        assert listener.heard == await read_log(reopened)

    async def test_a_cancelled_append_takes_nobody_with_it(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Those that wait together with it get their answers, and keep them."""
        for turns in range(4):
            streams = [f"run-{turns}-{number}" for number in range(12)]
            answered = await self._cancel_every_second(storage, streams, turns)
            assert set(streams[1::2]) <= answered
        reopened = await harness.reopen(storage)
        for turns in range(4):
            for number in range(12):
                happened = await is_there(reopened, f"run-{turns}-{number}")
                assert happened or number % 2 == 0

    async def _cancel_every_second(
        self, storage: Storage, streams: Sequence[str], turns: int
    ) -> set[str]:
        async with asyncio.TaskGroup() as group:
            tasks = {
                stream: group.create_task(
                    attempt(storage, [start(stream, count=2)], [row_of(stream)])
                )
                for stream in streams
            }
            for _ in range(turns):
                await next_turn()
            for stream in streams[::2]:
                tasks[stream].cancel()
        done = {stream: task for stream, task in tasks.items() if not task.cancelled()}
        return {stream for stream, task in done.items() if isinstance(task.result(), Appended)}

    async def test_a_shielded_append_happens(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """So a caller can give up waiting without giving up the append."""

        async def wait_for(append: asyncio.Task[Appended]) -> None:
            await asyncio.shield(append)

        async with asyncio.TaskGroup() as group:
            append = group.create_task(storage.append([start("run-1", count=2)], [row_of("run-1")]))
            waiting = group.create_task(wait_for(append))
            await next_turn()
            waiting.cancel()
        assert len(append.result().events) == 2
        reopened = await harness.reopen(storage)
        assert await is_there(reopened, "run-1")

    async def test_the_stream_goes_on_after_a_cancelled_append(self, storage: Storage) -> None:
        """Who reads again and decides again gets through."""
        for turns in range(PATIENCE):
            stream = f"run-{turns}"
            await give_up(storage, stream, turns=turns)
            await storage.append([start(f"after-{turns}")])
            version = len(await storage.read_stream(stream))
            appended = await storage.append([write(stream, version, event())])
            assert appended.events[0].version == version + 1
