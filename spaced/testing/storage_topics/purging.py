"""Proves that a purge takes everything of a stream, fences its name, and touches nothing else."""

import pytest

from spaced.errors import StreamPurged
from spaced.log.table import InsertRow, PutRow, RowWrite
from spaced.storage.protocol import Storage
from spaced.testing.samples import EVERYTHING, event, read_log, start, write
from spaced.testing.storage_harness import StorageHarness
from spaced.testing.storage_topics.fixtures import StorageFixtures
from spaced.testing.tables import label, put_card, slot


async def two_runs(storage: Storage) -> None:
    """Write two runs that take turns in the log, with rows, words and a label of no stream."""
    for number, stream in enumerate(("run-1", "run-2", "run-1", "run-2")):
        rows: list[RowWrite] = [
            put_card(f"card-{number}", stream=stream, content=f"word in {stream}"),
            InsertRow(table="slot", row=slot(f"slot-{number}", stream=stream)),
        ]
        await storage.append([write(stream, number // 2, event(b'{"n":%d}' % number))], rows)
    row = PutRow(table="label", row=label("run-1", 1), text={"words": "word"})
    await storage.append([], [row])


class PurgePromises(StorageFixtures):
    """What was deleted for good is gone, and cannot come back under its name."""

    async def test_the_events_are_gone(self, storage: Storage) -> None:
        """Readers of the stream, of the log and of the list skip what was there."""
        await two_runs(storage)
        await storage.purge("run-1")
        assert list(await storage.read_stream("run-1")) == []
        assert [e.stream for e in await read_log(storage)] == ["run-2", "run-2"]
        assert [h.stream for h in await storage.list_streams(limit=9)] == ["run-2"]

    async def test_the_rows_are_gone_from_every_table(self, storage: Storage) -> None:
        """Rows of other streams stay, and so do tables that belong to none."""
        await two_runs(storage)
        await storage.purge("run-1")
        cards = (await storage.list_rows("card")).rows
        slots = (await storage.list_rows("slot")).rows
        assert [row["card_id"] for row in cards] == ["card-1", "card-3"]
        assert [row["name"] for row in slots] == ["slot-1", "slot-3"]
        assert len((await storage.list_rows("label")).rows) == 1

    async def test_the_words_are_gone(self, storage: Storage) -> None:
        """A search finds nothing of it, and what it finds otherwise is the same as before."""
        await two_runs(storage)
        await storage.purge("run-1")
        hits = await storage.search("card", "word", limit=9)
        assert {key[0] for key in hits.keys} == {"card-1", "card-3"}
        assert len((await storage.search("label", "word", limit=9)).keys) == 1

    async def test_the_keys_are_free_again(self, storage: Storage) -> None:
        """A purged row does not block an insert by another stream."""
        await two_runs(storage)
        await storage.purge("run-1")
        insert = InsertRow(table="slot", row=slot("slot-0", stream="run-2"))
        await storage.append([write("run-2", 2, event())], [insert])

    async def test_other_streams_are_untouched(self, storage: Storage) -> None:
        """Their events keep every field, and they go on at their versions."""
        await two_runs(storage)
        before = list(await storage.read_stream("run-2"))
        await storage.purge("run-1")
        assert list(await storage.read_stream("run-2")) == before
        appended = await storage.append([write("run-2", 2, event())])
        assert appended.events[0].version == 3

    async def test_the_name_is_fenced(self, storage: Storage) -> None:
        """No append reaches it, whatever version it expects and whatever else it holds."""
        await two_runs(storage)
        await storage.purge("run-1")
        for writes in (
            [start("run-1")],
            [write("run-1", 2, event())],
            [write("run-1", 0)],
            [start("run-3"), start("run-1")],
        ):
            with pytest.raises(StreamPurged) as caught:
                await storage.append(writes, [put_card("new", stream="run-3")])
            assert caught.value.stream == "run-1"
        assert list(await storage.read_stream("run-3")) == []
        assert not (await storage.get_rows("card", [("new",)])).rows

    async def test_a_stream_that_never_was_is_fenced_too(self, storage: Storage) -> None:
        """A late writer must not begin what was deleted before it arrived."""
        await storage.purge("run-1")
        with pytest.raises(StreamPurged):
            await storage.append([start("run-1")])
        assert await storage.head() == 0

    async def test_purging_twice_is_no_error(self, storage: Storage) -> None:
        """The second time there is nothing left to do."""
        await two_runs(storage)
        await storage.purge("run-1")
        await storage.purge("run-1")
        with pytest.raises(StreamPurged):
            await storage.append([start("run-1")])

    async def test_the_fence_survives_a_reopen(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Deleted stays deleted in the next life of the process."""
        await two_runs(storage)
        await storage.purge("run-1")
        await storage.purge("run-9")
        reopened = await harness.reopen(storage)
        for stream in ("run-1", "run-9"):
            with pytest.raises(StreamPurged):
                await reopened.append([start(stream)])

    async def test_a_purge_is_durable_once_it_returns(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """A crash right behind it brings nothing back."""
        await two_runs(storage)
        await storage.purge("run-1")
        survivor = await harness.crash(storage)
        assert {e.stream for e in await read_log(survivor)} == {"run-2"}
        assert len((await survivor.list_rows("card")).rows) == 2
        with pytest.raises(StreamPurged):
            await survivor.append([start("run-1")])

    async def test_the_head_does_not_fall(self, storage: Storage, harness: StorageHarness) -> None:
        """A cursor that a client holds never lies in the future."""
        await storage.append([start("run-1", count=2)])
        await storage.append([start("run-2", count=3)], [put_card("a")])
        await storage.purge("run-2")
        assert await storage.head() == 5
        assert (await storage.list_rows("card")).as_of_position == 5
        assert (await storage.append([])).position == 5
        reopened = await harness.reopen(storage)
        assert await reopened.head() == 5

    async def test_positions_are_not_given_again(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Also not when the newest stream was purged and the storage opened again."""
        await storage.append([start("run-1")])
        newest = await storage.append([start("run-2", count=3)])
        await storage.purge("run-2")
        next_one = await storage.append([start("run-3")])
        assert next_one.events[0].position > newest.position
        await storage.purge("run-3")
        reopened = await harness.reopen(storage)
        later = await reopened.append([start("run-4")])
        assert later.events[0].position > next_one.position

    async def test_a_reader_in_the_middle_skips_the_hole(self, storage: Storage) -> None:
        """Pages go on behind positions that are gone, and a page is not shorter for them."""
        for number in range(6):
            await storage.append([start(f"run-{number}", count=2)])
        await storage.purge("run-2")
        await storage.purge("run-3")
        page = await storage.read_all(after=3, limit=4)
        assert [e.stream for e in page] == ["run-1", "run-4", "run-4", "run-5"]
        after_hole = await storage.read_all(after=6, limit=EVERYTHING)
        assert [e.stream for e in after_hole] == ["run-4", "run-4", "run-5", "run-5"]

    async def test_a_purged_stream_takes_no_rows_either(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """A late write of rows alone would leave what no later purge is asked to remove."""
        await two_runs(storage)
        await storage.purge("run-1")
        await storage.purge("never-was")
        reopened = await harness.reopen(storage)
        late: list[RowWrite] = [
            put_card("late", stream="run-1"),
            put_card("late", stream="never-was"),
            InsertRow(table="slot", row=slot("late", stream="run-1")),
        ]
        for row in late:
            with pytest.raises(StreamPurged):
                await reopened.append([], [put_card("fine", stream="run-2"), row])
            with pytest.raises(StreamPurged):
                await reopened.append([write("run-2", 2, event())], [row])
        assert not (await reopened.get_rows("card", [("late",), ("fine",)])).rows
        assert not (await reopened.get_rows("slot", [("late",)])).rows
        assert len(await reopened.read_stream("run-2")) == 2
