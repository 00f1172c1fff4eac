"""Proves that a backup is a whole and consistent copy, and a restored one a log of its own."""

import asyncio

import pytest

from spaced.errors import KeyTaken, StaleVersion, StorageRefused, StreamPurged
from spaced.log.table import InsertRow, PutRow
from spaced.storage.protocol import Storage
from spaced.testing.samples import attempt, event, next_turn, numbered, read_log, start, write
from spaced.testing.storage_harness import StorageHarness
from spaced.testing.storage_topics.fixtures import StorageFixtures
from spaced.testing.tables import card, label, put_card, slot


async def fill(storage: Storage) -> str:
    """Write something of everything, and return the id of a blob."""
    await storage.append([start("run-1", count=2), start("run-2")], [put_card("a", content="word")])
    await storage.append([write("run-1", 2, event(session_id="s", item_id="i"))])
    await storage.append([start("gone")], [put_card("gone", stream="gone", content="word")])
    row = PutRow(table="label", row=label("é", -1, note="n"), text={"words": "other"})
    await storage.append([], [row, InsertRow(table="slot", row=slot("one"))])
    await storage.purge("gone")
    return await storage.put_blob(b"content")


async def all_answers(storage: Storage, blob_id: str) -> list[object]:
    """Return what can be read."""
    answers: list[object] = [await storage.head(), await read_log(storage)]
    answers.append(list(await storage.list_streams(limit=9)))
    answers.append(list(await storage.read_stream("run-1", session_id="s", item_ids=["i"])))
    for table in ("card", "label", "slot"):
        rows = await storage.list_rows(table)
        answers.append((list(map(dict, rows.rows)), rows.as_of_position))
    for table, query in (("card", "word"), ("label", "other")):
        answers.append(list((await storage.search(table, query, limit=9)).keys))
    return [*answers, await storage.get_blob(blob_id)]


class BackupPromises(StorageFixtures):
    """A backup restores to all that could be read, under a name of its own."""

    async def test_a_restored_backup_answers_everything_the_same(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Events, rows, words and blobs are all there."""
        blob_id, folder = await fill(storage), harness.new_folder()
        await storage.backup(folder)
        restored = await harness.restore(folder)
        assert await all_answers(restored, blob_id) == await all_answers(storage, blob_id)

    async def test_a_restored_backup_is_another_log(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """A cursor of the old log must not fit, and the new name lasts."""
        folder = harness.new_folder()
        await storage.backup(folder)
        first, second = await harness.restore(folder), await harness.restore(folder)
        assert len({storage.log_id, first.log_id, second.log_id}) == 3
        assert (await harness.reopen(first)).log_id == first.log_id

    async def test_a_restored_backup_takes_new_appends(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Versions, positions and keys go on where they were; the source does not notice."""
        await fill(storage)
        folder, head = harness.new_folder(), await storage.head()
        await storage.backup(folder)
        restored = await harness.restore(folder)
        appended = await restored.append([write("run-1", 3, event())])
        assert appended.events[0].version == 4
        assert appended.position > head
        with pytest.raises(StaleVersion):
            await restored.append([start("run-2")])
        with pytest.raises(KeyTaken):
            await restored.append([], [InsertRow(table="slot", row=slot("one"))])
        assert await storage.head() == head

    async def test_a_restored_backup_keeps_the_fences(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """What was deleted for good does not come back by way of a backup."""
        await fill(storage)
        folder = harness.new_folder()
        await storage.backup(folder)
        restored = await harness.restore(folder)
        with pytest.raises(StreamPurged):
            await restored.append([start("gone")])

    async def test_a_backup_is_the_state_of_its_moment(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """What is written later does not reach it, also if the storage goes on for long."""
        await storage.append([start("run-1")], [put_card("a")])
        folder = harness.new_folder()
        await storage.backup(folder)
        await storage.append([start("run-2", count=50)], [put_card("b")])
        restored = await harness.restore(folder)
        assert [e.stream for e in await read_log(restored)] == ["run-1"]
        assert len((await restored.list_rows("card")).rows) == 1

    async def test_an_empty_storage_can_be_backed_up(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Into an existing empty folder as well as into a new one."""
        folder = harness.new_folder()
        folder.mkdir(parents=True)
        await storage.backup(folder)
        assert await read_log(await harness.restore(folder)) == []

    async def test_a_folder_with_something_in_it_is_refused(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Whatever lies there is left alone, another backup too."""
        folder = harness.new_folder()
        folder.mkdir(parents=True)
        (folder / "letter.txt").write_text("mine")
        with pytest.raises(StorageRefused):
            await storage.backup(folder)
        assert [path.name for path in folder.iterdir()] == ["letter.txt"]
        assert (folder / "letter.txt").read_text() == "mine"
        await storage.append([start("run-1")])

    async def test_a_backup_is_not_written_over_another(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """The older backup stays what it was."""
        folder = harness.new_folder()
        await storage.backup(folder)
        await storage.append([start("run-1")])
        with pytest.raises(StorageRefused):
            await storage.backup(folder)
        assert await read_log(await harness.restore(folder)) == []

    async def test_what_is_no_backup_is_refused(self, harness: StorageHarness) -> None:
        """A missing, an empty and a foreign folder restore to nothing."""
        missing, empty, foreign = (harness.new_folder() for _ in range(3))
        empty.mkdir(parents=True)
        foreign.mkdir(parents=True)
        (foreign / "letter.txt").write_text("mine")
        for folder in (missing, empty, foreign):
            with pytest.raises(StorageRefused):
                await harness.restore(folder)

    async def test_a_backup_is_not_restored_over_a_storage(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Only an empty place can take one; what is there stays."""
        await storage.append([start("run-1")])
        folder = harness.new_folder()
        await storage.backup(folder)
        await storage.append([start("run-2")])
        await storage.close()
        with pytest.raises(StorageRefused):
            await harness.restore_over(storage, folder)
        assert len(await read_log(await harness.reopen(storage))) == 2

    async def test_a_backup_taken_while_appends_run_is_consistent(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """It holds the log up to some position, and exactly the rows of those events."""
        folder = harness.new_folder()
        async with asyncio.TaskGroup() as group:
            for number in range(60):
                if number == 20:
                    group.create_task(storage.backup(folder))
                stream = f"run-{number}"
                rows = [PutRow(table="card", row=card(stream, stream=stream))]
                writes = [write(stream, 0, *numbered(2))]
                group.create_task(attempt(storage, writes, rows, bulk=number % 10 == 0))
                await next_turn()
        restored, log = await harness.restore(folder), await read_log(storage)
        copied = await read_log(restored)
        assert len(log) == 120
        assert copied == log[: len(copied)]
        cards = (await restored.list_rows("card")).rows
        assert sorted([str(row["stream"]) for row in cards] * 2) == sorted(e.stream for e in copied)
