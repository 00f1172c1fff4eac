"""Proves how rows are written and fetched by key."""

import asyncio

import pytest

from spaced.errors import KeyTaken, StaleVersion
from spaced.log.table import DeleteRow, InsertRow, PutRow, RowWrite
from spaced.storage.protocol import Storage
from spaced.testing.samples import attempt_at_once, event, next_turn, read_log, start, write
from spaced.testing.storage_harness import StorageHarness
from spaced.testing.storage_topics.fixtures import StorageFixtures
from spaced.testing.tables import card, label, put_card, slot

DIFFICULT_TEXTS = ("", " ", 'it\'s "quoted"', "a\nb\tc", "100%_", "é😀\u200d\uffff", "null", "\\")


async def titles(storage: Storage, *card_ids: str) -> list[object]:
    """Return the titles of the cards that exist."""
    found = await storage.get_rows("card", [(card_id,) for card_id in card_ids])
    return [row["title"] for row in found.rows]


def titled(card_id: str, title: str) -> PutRow:
    """Return the writing of a card with a title."""
    return PutRow(table="card", row=card(card_id, title=title))


class RowPromises(StorageFixtures):
    """A row is there with all its columns, or it is not there."""

    async def test_a_row_comes_back_with_all_its_columns(self, storage: Storage) -> None:
        """Every declared column is there, and nothing else."""
        row = card("a", title="A title", rank=-3, done_at=None, note="n")
        await storage.append([], [PutRow(table="card", row=row, text={"content": "words"})])
        rows = (await storage.get_rows("card", [("a",)])).rows
        assert [dict(found) for found in rows] == [dict(row)]

    async def test_values_come_back_as_they_were(self, storage: Storage) -> None:
        """Null is not an empty text, digits are no number, and integers have 64 bits."""
        integers = (0, -(2**63), 2**63 - 1, None)
        texts = (*DIFFICULT_TEXTS, "1", "007", "1.0", None)
        for number, done_at in enumerate(integers):
            row = card(f"integer-{number}", done_at=done_at)
            await storage.append([], [PutRow(table="card", row=row)])
        for number, note in enumerate(texts):
            await storage.append([], [PutRow(table="label", row=label("text", number, note=note))])
        keys = [(f"integer-{number}",) for number in range(len(integers))]
        cards = (await storage.get_rows("card", keys)).rows
        assert [row["done_at"] for row in cards] == list(integers)
        labels = (await storage.list_rows("label")).rows
        assert [row["note"] for row in labels] == list(texts)

    async def test_any_text_can_be_a_key(self, storage: Storage) -> None:
        """A key is compared character by character, with case, never as a pattern."""
        keys = [*DIFFICULT_TEXTS, "A", "a", "a ", "á"]
        await storage.append([], [titled(key, f"title of {key}") for key in keys])
        assert await titles(storage, *keys) == [f"title of {key}" for key in keys]

    async def test_put_replaces_the_whole_row(self, storage: Storage) -> None:
        """Nothing of the older row shines through."""
        await storage.append([], [PutRow(table="card", row=card("a", note="old", done_at=1))])
        await storage.append([], [PutRow(table="card", row=card("a", title="new"))])
        rows = (await storage.list_rows("card")).rows
        assert [dict(row) for row in rows] == [dict(card("a", title="new"))]

    async def test_insert_writes_a_new_row(self, storage: Storage) -> None:
        """An inserted row is a row like any other."""
        await storage.append([], [InsertRow(table="card", row=card("a", title="first"))])
        await storage.append([], [titled("a", "second")])
        assert await titles(storage, "a") == ["second"]

    async def test_insert_of_a_taken_key_refuses_the_append(self, storage: Storage) -> None:
        """The error tells table and key; events and other rows are refused too."""
        await storage.append([], [PutRow(table="label", row=label("a", 1, note="first"))])
        insert = InsertRow(table="label", row=label("a", 1, note="second"))
        with pytest.raises(KeyTaken) as caught:
            await storage.append([start("run-1")], [put_card("b", content="word"), insert])
        assert (caught.value.table, caught.value.key) == ("label", ("a", 1))
        notes = [row["note"] for row in (await storage.list_rows("label")).rows]
        assert notes == ["first"]
        assert await titles(storage, "b") == []
        assert await read_log(storage) == []
        assert not (await storage.search("card", "word", limit=9)).keys

    async def test_an_inserted_key_is_unique_over_all_streams(self, storage: Storage) -> None:
        """Two runs that claim one name: the second claim is refused with its events."""
        claims = [InsertRow(table="slot", row=slot("one", stream=f"run-{n}")) for n in (1, 2)]
        await storage.append([start("run-1")], [claims[0]])
        with pytest.raises(KeyTaken):
            await storage.append([start("run-2")], [claims[1]])
        assert [h.stream for h in await storage.list_streams(limit=9)] == ["run-1"]

    async def test_one_of_many_claims_at_once_wins(self, storage: Storage) -> None:
        """Of appends that wait together only one gets the key, and the events agree with it."""
        jobs = [
            ([start(f"run-{n}")], [InsertRow(table="slot", row=slot("one", stream=f"run-{n}"))])
            for n in range(8)
        ]
        outcomes = await attempt_at_once(storage, jobs)
        refused = [outcome for outcome in outcomes if isinstance(outcome, KeyTaken)]
        assert len(refused) == 7
        owner = (await storage.get_rows("slot", [("one",)])).rows[0]["stream"]
        assert [e.stream for e in await read_log(storage)] == [owner]

    async def test_delete_removes_a_row(self, storage: Storage) -> None:
        """Only the row of that key goes, and its key is free again."""
        rows = [PutRow(table="label", row=label("a", number)) for number in (1, 2)]
        await storage.append([], rows)
        await storage.append([], [DeleteRow(table="label", key=("a", 1))])
        left = (await storage.list_rows("label")).rows
        assert [row["number"] for row in left] == [2]
        await storage.append([], [InsertRow(table="label", row=label("a", 1))])

    async def test_delete_of_a_missing_row_is_no_error(self, storage: Storage) -> None:
        """What should not be there is not there."""
        await storage.append([start("run-1")], [DeleteRow(table="card", key=("a",))])
        assert await storage.head() == 1

    async def test_rows_are_applied_in_their_order(self, storage: Storage) -> None:
        """Later writes of one append see what earlier ones did."""
        first, second = card("a", title="first"), card("a", title="second")
        gone = DeleteRow(table="card", key=("a",))
        orders: list[tuple[list[RowWrite], list[object]]] = [
            ([titled("a", "first"), titled("a", "second")], ["second"]),
            ([gone, InsertRow(table="card", row=first)], ["first"]),
            ([PutRow(table="card", row=second), gone], []),
            ([InsertRow(table="card", row=first), PutRow(table="card", row=second)], ["second"]),
            ([gone, InsertRow(table="card", row=first), gone], []),
        ]
        for rows, expected in orders:
            await storage.append([], rows)
            assert await titles(storage, "a") == expected

    async def test_an_append_cannot_insert_one_key_twice(self, storage: Storage) -> None:
        """A key that the same append wrote before is taken too."""
        twice = [InsertRow(table="card", row=card("a")) for _ in range(2)]
        put_first: list[RowWrite] = [put_card("a"), twice[0]]
        both: tuple[list[RowWrite], ...] = ([*twice], put_first)
        for rows in both:
            with pytest.raises(KeyTaken):
                await storage.append([start("run-1")], rows)
        assert await titles(storage, "a") == []

    async def test_rows_of_a_stale_append_are_not_written(self, storage: Storage) -> None:
        """Put, insert and delete wait for the version check."""
        await storage.append([start("run-1")], [titled("a", "kept")])
        changes: list[RowWrite] = [
            titled("a", "lost"),
            InsertRow(table="card", row=card("b")),
            DeleteRow(table="card", key=("a",)),
        ]
        for change in changes:
            with pytest.raises(StaleVersion):
                await storage.append([write("run-1", 0, event())], [change])
        assert await titles(storage, "a", "b") == ["kept"]

    async def test_rows_are_fetched_in_the_order_of_the_keys(self, storage: Storage) -> None:
        """Missing rows are left out, and the order is the caller's."""
        await storage.append([], [PutRow(table="label", row=label("a", n)) for n in (1, 2, 3)])
        keys = [("a", 3), ("a", 9), ("b", 1), ("a", 1)]
        found = (await storage.get_rows("label", keys)).rows
        assert [(row["owner"], row["number"]) for row in found] == [("a", 3), ("a", 1)]
        assert list((await storage.get_rows("label", [])).rows) == []

    async def test_a_key_that_is_given_twice_has_its_row_twice(self, storage: Storage) -> None:
        """So the answer can be laid beside the question."""
        await storage.append([], [put_card("a"), put_card("b")])
        keys = [("b",), ("a",), ("none",), ("b",), ("none",)]
        found = (await storage.get_rows("card", keys)).rows
        assert [row["card_id"] for row in found] == ["b", "a", "b"]

    async def test_rows_of_several_tables_are_fetched_as_of_one_position(
        self, storage: Storage
    ) -> None:
        """A command decides on a state that was there, not on parts of two states."""
        await storage.append(
            [start("run-1")],
            [put_card("a"), put_card("b"), PutRow(table="slot", row=slot("one", stream="run-1"))],
        )
        found = await storage.get_rows_of(
            {"card": [("b",), ("none",), ("a",)], "slot": [("one",)], "label": []}
        )
        assert [row["card_id"] for row in found["card"].rows] == ["b", "a"]
        assert [row["name"] for row in found["slot"].rows] == ["one"]
        assert list(found["label"].rows) == []
        assert {rows.as_of_position for rows in found.values()} == {1}
        assert await storage.get_rows_of({}) == {}

    async def test_rows_of_several_tables_are_never_of_two_moments(self, storage: Storage) -> None:
        """While rows of two tables change together, no reader sees one new and one old."""

        async def change() -> None:
            for number in range(40):
                row = slot("one", stream=f"run-{number}")
                card_row = card("a", rank=number)
                await storage.append(
                    [], [PutRow(table="card", row=card_row), PutRow(table="slot", row=row)]
                )
                await next_turn()

        async def read() -> None:
            while not changing.done():
                found = await storage.get_rows_of({"card": [("a",)], "slot": [("one",)]})
                for card_row, slot_row in zip(found["card"].rows, found["slot"].rows, strict=True):
                    assert slot_row["stream"] == f"run-{card_row['rank']}"
                await next_turn()

        async with asyncio.TaskGroup() as group:
            changing = group.create_task(change())
            group.create_task(read())

    async def test_many_rows_are_fetched_at_once(self, storage: Storage) -> None:
        """A list on a screen may ask for a thousand rows."""
        ids = [f"card-{n:04}" for n in range(1500)]
        await storage.append([], [put_card(card_id) for card_id in ids])
        found = (await storage.get_rows("card", [(card_id,) for card_id in reversed(ids)])).rows
        assert [row["card_id"] for row in found] == ids[::-1]

    async def test_rows_tell_of_which_position_they_are_true(self, storage: Storage) -> None:
        """Whoever follows the log from there on misses nothing and repeats nothing."""
        assert (await storage.get_rows("card", [("a",)])).as_of_position == 0
        await storage.append([start("run-1", count=2)], [put_card("a")])
        await storage.append([start("run-2")])
        assert (await storage.get_rows("card", [("a",)])).as_of_position == 3
        assert (await storage.list_rows("card")).as_of_position == 3

    async def test_rows_are_the_same_after_a_reopen(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Closing and opening changes no row, and frees no key."""
        await storage.append([], [titled("a", "kept"), put_card("b")])
        reopened = await harness.reopen(storage)
        assert await titles(reopened, "a", "b") == ["kept", ""]
        with pytest.raises(KeyTaken):
            await reopened.append([], [InsertRow(table="card", row=card("a"))])
