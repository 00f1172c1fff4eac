"""Pages follow an index in mixed directions, and together are the whole list."""

from collections.abc import Mapping
from functools import cmp_to_key

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spaced.plugin_api import DeleteRow, PutRow, Row, Scalar, Table
from spaced.testing.tables import CARD, LABEL, card
from spaced_sqlite.storage import SqliteStorage

TEXTS = st.sampled_from(["", "A", "a", "a\x00", "b", "Z", "ä", "ß", "\uffff", "😀"])
CARDS = st.builds(
    card,
    TEXTS,
    board=st.sampled_from(["main", "other"]),
    rank=st.integers(-2, 2),
    title=TEXTS,
    done_at=st.none() | st.integers(0, 1),
)
LABELS = st.fixed_dictionaries(
    {"owner": TEXTS, "number": st.integers(-2, 2), "note": st.none() | TEXTS}
)


def _sorted(table: Table, rows: list[Row], order: str | None) -> list[Row]:
    columns = [(c.name, c.descending) for c in table.index(order).columns] if order else []
    columns += [(name, False) for name in table.key]

    def compare(one: Row, other: Row) -> int:
        for name, is_descending in columns:
            a, b = one[name], other[name]
            if a != b:
                is_less = a < b  # type: ignore[operator]  # ordered columns are never null
                return -1 if is_less != is_descending else 1
        return 0

    return sorted(rows, key=cmp_to_key(compare))


async def _pages(
    storage: SqliteStorage, table: str, where: Mapping[str, Scalar] | None, order: str | None
) -> list[Row]:
    found: list[Row] = []
    while True:
        page = await storage.list_rows(
            table, where=where, order=order, after=found[-1] if found else None, limit=2
        )
        if not page.rows:
            return found
        found += page.rows


async def _fill(storage: SqliteStorage, table: Table, rows: list[Row]) -> list[Row]:
    """Let a table hold these rows and no others."""
    old = (await storage.list_rows(table.name)).rows
    await storage.append([], [DeleteRow(table=table.name, key=table.key_of(row)) for row in old])
    await storage.append([], [PutRow(table=table.name, row=row) for row in rows])
    return list({table.key_of(row): row for row in rows}.values())


@pytest.mark.parametrize("order", [None, *(index.name for index in CARD.indexes)])
@pytest.mark.parametrize(
    "where", [None, {"board": "main"}, {"done_at": None}, {"rank": 1, "title": "a"}], ids=str
)
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=st.lists(CARDS, max_size=12))
async def test_pages_of_cards_are_the_sorted_list(
    storage: SqliteStorage, order: str | None, where: Mapping[str, Scalar] | None, rows: list[Row]
) -> None:
    """In every declared order, with every kind of filter, whatever the values."""
    rows = await _fill(storage, CARD, rows)
    chosen = [row for row in rows if all(row[name] == v for name, v in (where or {}).items())]

    assert await _pages(storage, "card", where, order) == _sorted(CARD, chosen, order)


@pytest.mark.parametrize("order", [None, "by_number"])
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=st.lists(LABELS, max_size=12))
async def test_pages_of_a_table_with_a_key_of_two_columns(
    storage: SqliteStorage, order: str | None, rows: list[Row]
) -> None:
    """The key's columns break ties, one after the other."""
    rows = await _fill(storage, LABEL, rows)

    assert await _pages(storage, "label", None, order) == _sorted(LABEL, rows, order)


async def test_a_filter_on_the_whole_key_has_one_page(storage: SqliteStorage) -> None:
    """Nothing is left to sort by, and nothing comes after the only row."""
    await storage.append([], [PutRow(table="card", row=card("a"))])

    assert await _pages(storage, "card", {"card_id": "a"}, None) == [card("a")]


@pytest.mark.parametrize(
    ("where", "order"), [({"colour": "red"}, None), (None, "by_colour")], ids=["where", "order"]
)
async def test_what_is_not_declared_is_a_wrong_call(
    storage: SqliteStorage, where: Mapping[str, Scalar] | None, order: str | None
) -> None:
    """A name that reaches SQL unchecked could be anything."""
    with pytest.raises((ValueError, KeyError), match="colour"):
        await storage.list_rows("card", where=where, order=order)
