"""Proves that what was answered is there after a crash at any moment from then on."""

import asyncio

from spaced.storage.protocol import Storage, StoragePlace
from spaced.testing.samples import event, read_log, start, write
from spaced.testing.storage_harness import StorageHarness
from spaced.testing.storage_topics.fixtures import StorageFixtures
from spaced.testing.tables import put_card


class DurabilityPromises(StorageFixtures):
    """An answer means "on disk"."""

    async def test_every_answered_append_survives_a_crash(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """The crash comes right behind each answer, before anything else can run."""
        captured: list[StoragePlace] = []
        for version in range(5):
            await storage.append([write("run-1", version, event())], [put_card(f"{version}")])
            captured.append(harness.capture(storage))
        log = await read_log(storage)
        for count, place in enumerate(captured, start=1):
            survivor = await harness.open_captured(place)
            assert await read_log(survivor) == log[:count]
            assert len((await survivor.list_rows("card")).rows) == count

    async def test_appends_answered_together_survive_a_crash(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """An append that shares a commit is answered after that commit."""
        captured: list[tuple[str, StoragePlace]] = []

        async def append(stream: str, *, is_watched: bool) -> None:
            await storage.append([start(stream)], [put_card(stream, content="word")])
            if is_watched:
                captured.append((stream, harness.capture(storage)))

        async with asyncio.TaskGroup() as group:
            for number in range(24):
                group.create_task(append(f"run-{number}", is_watched=number % 6 == 0))
        for stream, place in captured:
            survivor = await harness.open_captured(place)
            assert len(await survivor.read_stream(stream)) == 1
            assert len((await survivor.get_rows("card", [(stream,)])).rows) == 1

    async def test_a_bulk_append_survives_a_crash(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """It may wait for its turn, not for its sync."""
        await storage.append([start("run-1", count=200)], [put_card("a")], bulk=True)
        survivor = await harness.crash(storage)
        assert len(await read_log(survivor)) == 200

    async def test_rows_alone_survive_a_crash(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """An append without events is as durable as one with."""
        await storage.append([], [put_card("a", content="word")])
        survivor = await harness.crash(storage)
        assert len((await survivor.list_rows("card")).rows) == 1
        assert len((await survivor.search("card", "word", limit=9)).keys) == 1

    async def test_a_crash_leaves_no_half_append(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Whatever was on its way is there with its rows or not at all, and the log goes on."""
        captured: list[StoragePlace] = []

        async def append(number: int) -> None:
            stream = f"run-{number}"
            await storage.append([start(stream, count=3)], [put_card(stream, stream=stream)])
            if number % 8 == 0:
                captured.append(harness.capture(storage))

        async with asyncio.TaskGroup() as group:
            for number in range(24):
                group.create_task(append(number), name=f"append-{number}")
        for place in captured:
            survivor = await harness.open_captured(place)
            heads = await survivor.list_streams(limit=99)
            cards = (await survivor.list_rows("card")).rows
            assert {head.version for head in heads} == {3}
            assert sorted(h.stream for h in heads) == sorted(str(r["stream"]) for r in cards)
            head = await survivor.head()
            assert (await survivor.append([start("next")])).position > head

    async def test_a_crashed_storage_is_the_same_log(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Cursors that clients hold stay good."""
        await storage.append([start("run-1")])
        survivor = await harness.crash(storage)
        assert survivor.log_id == storage.log_id
        assert await survivor.head() == 1
