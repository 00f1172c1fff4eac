"""Proves how rows are listed: orders, equalities and pages."""

from collections.abc import Sequence
from typing import Any

import pytest

from spaced.log.table import PutRow, Row, Scalar
from spaced.storage.protocol import Storage
from spaced.testing.samples import start
from spaced.testing.storage_topics.fixtures import StorageFixtures
from spaced.testing.tables import CARD, card, label

TEXTS = ["", "A", "Z", "a", "ab", "b", "\u00e9", "\uffff", "\U0001f600"]
"""In the order of their code points."""

BOARDS = ("main", "Main", "side")
ORDERS = (None, *(index.name for index in CARD.indexes))


async def fill(storage: Storage) -> Sequence[Row]:
    """Write cards that tie in every ordered column, in an order that no index has."""
    rows = [
        card(
            f"card-{(number * 7) % 24:02}",
            board=BOARDS[number % 3],
            rank=(number * 5) % 4 - 1,
            title=TEXTS[(number * 4) % 6],
            done_at=None if number % 2 else number,
            note=None if number % 3 else "n",
        )
        for number in range(24)
    ]
    await storage.append([start("run-1")], [PutRow(table="card", row=row) for row in rows])
    return rows


def ids(rows: Sequence[Row]) -> list[object]:
    """Return the keys of cards."""
    return [row["card_id"] for row in rows]


def in_order(rows: Sequence[Row], order: str | None) -> list[object]:
    """Return the keys of cards in the order of an index, found by sorting again and again."""
    columns = CARD.index(order).columns if order else ()
    found = sorted(rows, key=lambda row: str(row["card_id"]))
    for column in reversed(columns):
        name = column.name
        if name == "rank":
            found.sort(key=lambda row: int(row["rank"] or 0), reverse=column.descending)
        else:
            found.sort(key=lambda row, n=name: str(row[n]), reverse=column.descending)  # type: ignore[misc]
    return ids(found)


class ListingPromises(StorageFixtures):
    """A list is complete, in its declared order, and the same page by page."""

    async def test_rows_are_listed_by_key(self, storage: Storage) -> None:
        """Without an order rows follow their keys, part by part, numbers as numbers."""
        keys = [("a", 10), ("B", 1), ("a", -1), ("a", 2), ("b", 1)]
        await storage.append([], [PutRow(table="label", row=label(*key)) for key in keys])
        rows = (await storage.list_rows("label")).rows
        expected = [("B", 1), ("a", -1), ("a", 2), ("a", 10), ("b", 1)]
        assert [(row["owner"], row["number"]) for row in rows] == expected

    async def test_an_empty_table_has_no_rows(self, storage: Storage) -> None:
        """Listing nothing is no error, in any order."""
        for order in ORDERS:
            assert list((await storage.list_rows("card", order=order)).rows) == []

    async def test_rows_are_listed_in_every_declared_order(self, storage: Storage) -> None:
        """Directions mix within an index, and rows that tie follow their keys, ascending."""
        rows = await fill(storage)
        for order in ORDERS:
            listed = (await storage.list_rows("card", order=order)).rows
            assert ids(listed) == in_order(rows, order), order

    async def test_text_is_ordered_by_code_points(self, storage: Storage) -> None:
        """No locale, no case folding: the same order on every machine."""
        rows = [card(f"card-{n}", title=text) for n, text in enumerate(reversed(TEXTS))]
        await storage.append([], [PutRow(table="card", row=row) for row in rows])
        upward = (await storage.list_rows("card", order="by_title")).rows
        downward = (await storage.list_rows("card", order="by_title_backwards")).rows
        assert [row["title"] for row in upward] == TEXTS
        assert [row["title"] for row in downward] == TEXTS[::-1]

    async def test_pages_together_are_the_whole_list(self, storage: Storage) -> None:
        """In every order and with pages of any size every row comes once."""
        rows = await fill(storage)
        for order in ORDERS:
            for size in (1, 5, 23, 24, 25):
                seen: list[Row] = []
                for left in range(len(rows), -size, -size):
                    after = seen[-1] if seen else None
                    page = await storage.list_rows("card", order=order, after=after, limit=size)
                    assert len(page.rows) == max(0, min(left, size))
                    seen.extend(page.rows)
                assert ids(seen) == in_order(rows, order), (order, size)

    async def test_a_page_begins_behind_a_row_that_is_gone(self, storage: Storage) -> None:
        """Only the ordered and key columns of `after` count; the row need not exist."""
        await fill(storage)
        whole = (await storage.list_rows("card", order="by_board")).rows
        last = whole[9]
        bare = {name: last[name] for name in ("board", "rank", "card_id")}
        page = (await storage.list_rows("card", order="by_board", after=bare, limit=3)).rows
        assert ids(page) == ids(whole[10:13])
        between = {**bare, "card_id": f"{last['card_id']}-"}
        page = (await storage.list_rows("card", order="by_board", after=between, limit=3)).rows
        assert ids(page) == ids(whole[10:13])

    async def test_rows_are_chosen_by_equality(self, storage: Storage) -> None:
        """Every named column must have exactly this value, with case."""
        rows = await fill(storage)
        choices: list[dict[str, Scalar]] = [
            {"board": "main"},
            {"board": "main", "rank": 1},
            {"card_id": "card-03"},
        ]
        for where in choices:
            listed = (await storage.list_rows("card", where=where)).rows
            expected = [row for row in rows if where.items() <= dict(row).items()]
            assert ids(listed) == in_order(expected, None)
        assert not (await storage.list_rows("card", where={"board": "MAIN"})).rows

    async def test_null_is_chosen_by_none(self, storage: Storage) -> None:
        """`None` matches null, and null only; alone and together with a value."""
        rows = await fill(storage)
        listed = (await storage.list_rows("card", where={"done_at": None})).rows
        assert ids(listed) == in_order([r for r in rows if r["done_at"] is None], None)
        listed = (await storage.list_rows("card", where={"note": "n", "done_at": None})).rows
        expected = [r for r in rows if r["done_at"] is None and r["note"] == "n"]
        assert ids(listed) == in_order(expected, None)
        assert not (await storage.list_rows("card", where={"note": ""})).rows

    async def test_a_choice_is_listed_in_pages(self, storage: Storage) -> None:
        """Equality, order, beginning and limit work together."""
        rows = await fill(storage)
        chosen = [row for row in rows if row["board"] == "side"]
        for order in ORDERS:
            first = await storage.list_rows("card", where={"board": "side"}, order=order, limit=3)
            rest = await storage.list_rows(
                "card", where={"board": "side"}, order=order, after=first.rows[-1]
            )
            assert ids([*first.rows, *rest.rows]) == in_order(chosen, order), order

    async def test_a_row_moves_when_its_values_change(self, storage: Storage) -> None:
        """An index follows the row that is there now."""
        await fill(storage)
        moved = card("card-00", board="A first board", rank=99)
        await storage.append([], [PutRow(table="card", row=moved)])
        rows = (await storage.list_rows("card", order="by_board")).rows
        assert ids(rows)[0] == "card-00"
        assert ids(rows).count("card-00") == 1

    async def test_a_listing_that_nothing_declares_is_refused(self, storage: Storage) -> None:
        """With a `ValueError`, and in every storage alike: it is a mistake of the caller."""
        row = card("a", board="main")
        without_rank = {name: value for name, value in row.items() if name != "rank"}
        without_key = {name: value for name, value in row.items() if name != "card_id"}
        wrong: list[dict[str, Any]] = [
            {"table": "nothing"},
            {"table": "card", "order": "nothing"},
            {"table": "card", "where": {"nothing": 1}},
            {"table": "card", "where": {"content": "word"}},
            {"table": "card", "order": "by_board", "after": without_rank},
            {"table": "card", "after": without_key},
            {"table": "card", "where": {"board": "side"}, "after": row},
            {"table": "card", "where": {"rank": 2**63}},
            {"table": "card", "where": {"board": "half \ud83d"}},
            {"table": "card", "after": {**row, "card_id": "half \ud83d"}},
            {"table": "card", "where": {"done_at": 1}, "after": row},
        ]
        for arguments in wrong:
            with pytest.raises(ValueError):
                await storage.list_rows(**arguments)
                pytest.fail(f"{arguments} was answered")

    async def test_a_page_goes_on_from_ordered_and_key_columns_alone(
        self, storage: Storage
    ) -> None:
        """A place in a list can be kept without the whole row."""
        await fill(storage)
        where = {"board": "side"}
        rows = (await storage.list_rows("card", where=where, order="latest")).rows
        place = {name: rows[2][name] for name in ("rank", "title", "card_id")}
        page = await storage.list_rows("card", where=where, order="latest", after=place)
        assert ids(page.rows) == ids(rows[3:])

    async def test_other_reads_that_nothing_declares_are_refused(self, storage: Storage) -> None:
        """The same holds for keys, for search, and for items of no session."""
        with pytest.raises(ValueError):
            await storage.get_rows("nothing", [("a",)])
        for key in (("a", 1), (), ("half \ud83d",)):
            with pytest.raises(ValueError):
                await storage.get_rows("card", [key])
        with pytest.raises(ValueError):
            await storage.get_rows("label", [("a", 2**63)])
        with pytest.raises(ValueError):
            await storage.search("nothing", "word", limit=1)
        with pytest.raises(ValueError):
            await storage.search("card", "word", where={"nothing": 1}, limit=1)
        with pytest.raises(ValueError):
            await storage.search("slot", "word", limit=1)
        with pytest.raises(ValueError):
            await storage.read_stream("run-1", item_ids=["item"])
