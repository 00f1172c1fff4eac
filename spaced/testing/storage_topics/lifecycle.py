"""Proves opening, closing and describing."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from spaced.errors import StorageClosed
from spaced.log.table import Column, Index, IndexColumn
from spaced.storage.protocol import Appended, Storage
from spaced.testing.samples import attempt, next_turn, read_log, start
from spaced.testing.storage_harness import StorageHarness
from spaced.testing.storage_topics.fixtures import StorageFixtures
from spaced.testing.tables import CARD, LABEL, put_card


class LifecyclePromises(StorageFixtures):
    """A storage has a name, a beginning and an end."""

    async def test_a_log_has_one_name_for_life(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """The id is there from the start and stays the same."""
        assert storage.log_id
        reopened = await harness.reopen(storage)
        assert reopened.log_id == storage.log_id

    async def test_two_logs_have_two_names(self, storage: Storage, harness: StorageHarness) -> None:
        """So a cursor tells to which log it belongs."""
        assert (await harness.open()).log_id != storage.log_id

    async def test_two_storages_know_nothing_of_each_other(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Each place has its own events, rows and blobs."""
        other = await harness.open()
        await storage.append([start("run-1")], [put_card("a")])
        assert await read_log(other) == []
        assert not (await other.list_rows("card")).rows

    async def test_a_storage_keeps_only_the_tables_it_was_given(
        self, harness: StorageHarness
    ) -> None:
        """Another core may declare others."""
        small = await harness.open(tables=[CARD])
        await small.append([start("run-1")], [put_card("a", content="word")])
        assert len((await small.search("card", "word", limit=1)).keys) == 1
        await small.purge("run-1")
        assert not (await small.list_rows("card")).rows
        await harness.close()

    async def test_closing_twice_is_fine(self, storage: Storage) -> None:
        """Whoever cleans up need not know who else did."""
        await storage.close()
        await storage.close()

    async def test_a_closed_storage_refuses_every_call(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """With an error that says so, instead of hanging or answering from memory."""
        blob_id = await storage.put_blob(b"content")
        await storage.append([start("run-1")], [put_card("a", content="word")])
        await storage.close()
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "append": lambda: storage.append([start("run-2")]),
            "bulk append": lambda: storage.append([start("run-2")], bulk=True),
            "head": storage.head,
            "read_stream": lambda: storage.read_stream("run-1"),
            "version": lambda: storage.version("run-1"),
            "read_all": lambda: storage.read_all(after=0, limit=1),
            "list_streams": lambda: storage.list_streams(limit=1),
            "get_rows": lambda: storage.get_rows("card", [("a",)]),
            "get_rows_of": lambda: storage.get_rows_of({"card": [("a",)]}),
            "list_rows": lambda: storage.list_rows("card"),
            "search": lambda: storage.search("card", "word", limit=1),
            "put_blob": lambda: storage.put_blob(b"more"),
            "get_blob": lambda: storage.get_blob(blob_id),
            "list_blobs": lambda: storage.list_blobs(limit=1),
            "purge": lambda: storage.purge("run-1"),
            "reclaim": lambda: storage.reclaim([blob_id]),
            "backup": lambda: storage.backup(harness.new_folder()),
            "mark_filled": lambda: storage.mark_filled(["card"]),
            "describe": storage.describe,
        }
        for name, call in calls.items():
            with pytest.raises(StorageClosed):
                await call()
                pytest.fail(f"{name} was answered after the close")

    async def test_a_close_finishes_what_was_begun(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Each append is answered and kept, or told that the storage was closed and not kept."""
        async with asyncio.TaskGroup() as group:
            tasks = {
                f"run-{n}": group.create_task(attempt(storage, [start(f"run-{n}")]))
                for n in range(20)
            }
            await next_turn()
            await storage.close()
        answered = {s for s, task in tasks.items() if isinstance(task.result(), Appended)}
        closed = {s for s, task in tasks.items() if isinstance(task.result(), StorageClosed)}
        assert answered | closed == tasks.keys()
        reopened = await harness.reopen(storage)
        assert {e.stream for e in await read_log(reopened)} == answered

    async def test_a_derived_table_that_changed_waits_for_its_rebuild(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Its old rows would lack what is new, so it is empty, and listed until it was rebuilt."""
        await storage.append([start("run-1")], [put_card("a", content="word")])
        wider = replace(CARD, columns=(*CARD.columns, Column(name="more", required=False)))
        changed = await harness.reopen(storage, [wider])
        assert not (await changed.list_rows("card")).rows
        assert not (await changed.search("card", "word", limit=1)).keys
        assert list((await changed.describe()).unfilled_tables) == ["card"]

        again = await harness.reopen(await harness.crash(changed))
        assert not (await again.list_rows("card")).rows
        assert list((await again.describe()).unfilled_tables) == ["card"]

        await again.mark_filled(["card"])
        assert list((await again.describe()).unfilled_tables) == []
        crashed = await harness.crash(again)
        assert list((await crashed.describe()).unfilled_tables) == []
        reopened = await harness.reopen(again)
        assert list((await reopened.describe()).unfilled_tables) == []

    async def test_rows_alone_do_not_fill_a_table(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Only the core knows when all rows are there again, however they are written."""
        await storage.append([start("run-1")])
        changed = await harness.reopen(storage, [replace(CARD, text_columns=("content",))])
        await changed.append([], [put_card("a")])
        await changed.append([], [put_card("b")], bulk=True)
        assert list((await changed.describe()).unfilled_tables) == ["card"]
        again = await harness.reopen(changed)
        assert len((await again.list_rows("card")).rows) == 2
        assert list((await again.describe()).unfilled_tables) == ["card"]

    async def test_a_derived_table_that_is_new_on_an_old_log_waits_too(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """The events that its rows derive from are there already; an empty log has none."""
        added = replace(CARD, name="added")
        empty = await harness.reopen(await harness.open(), [CARD, added])
        assert list((await empty.describe()).unfilled_tables) == []

        await storage.append([start("run-1")], [put_card("a")])
        grown = await harness.reopen(storage, [CARD, added])
        assert list((await grown.describe()).unfilled_tables) == ["added"]
        assert len((await grown.list_rows("card")).rows) == 1

    async def test_other_orders_cost_no_rows(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """An index is made from the rows that are there."""
        await storage.append([start("run-1")], [put_card("a"), put_card("b")])
        index = Index(name="back", columns=(IndexColumn(name="card_id", descending=True),))
        sorted_anew = await harness.reopen(storage, [replace(CARD, indexes=(index,))])
        rows = (await sorted_anew.list_rows("card", order="back")).rows
        assert [row["card_id"] for row in rows] == ["b", "a"]
        assert list((await sorted_anew.describe()).unfilled_tables) == []

    async def test_a_table_that_is_not_declared_for_a_while_is_left_alone(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """An older version of the core that does not know it costs it nothing."""
        await storage.append([start("run-1")], [put_card("a", content="word")])
        without = await harness.reopen(storage, [LABEL])
        back = await harness.reopen(without, [CARD, LABEL])
        assert len((await back.search("card", "word", limit=1)).keys) == 1
        assert list((await back.describe()).unfilled_tables) == []

    async def test_an_unknown_table_cannot_be_marked(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """It is a mistake of the caller, and nothing else of the call is done."""
        await storage.append([start("run-1")])
        changed = await harness.reopen(storage, [replace(CARD, text_columns=("content",))])
        with pytest.raises(ValueError):
            await changed.mark_filled(["card", "nothing"])
        assert list((await changed.describe()).unfilled_tables) == ["card"]

    async def test_a_storage_describes_itself(self, storage: Storage) -> None:
        """What a person sees in `spaced status`: the engine, where it lies, and how large it is."""
        await storage.append([start("run-1")])
        report = await storage.describe()
        assert report.engine
        assert report.location
        assert all(size >= 0 for size in report.sizes.values())
        assert list(report.unfilled_tables) == []
