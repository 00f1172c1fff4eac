"""The reads that sessions make all the time go through an index and sort nothing."""

import pytest

from spaced.plugin_api import PutRow, Scalar
from spaced.testing.samples import event, write
from spaced.testing.tables import CARD, card
from spaced_sqlite.readers import Reader
from spaced_sqlite.row_tables import RowTable
from spaced_sqlite.statements import QUERIES
from spaced_sqlite.storage import SqliteStorage

ANYTHING: dict[str, Scalar] = {
    "stream": 1,
    "session": 1,
    "item": "i",
    "after": 0,
    "limit": 10,
    "name": "n",
    "id": 1,
    "kinds": "[]",
    "key": "k",
}


async def _plan(storage: SqliteStorage, sql: str, parameters: list[Scalar] | None = None) -> str:
    def explain(reader: Reader) -> str:
        rows = reader.conn.execute(f"explain query plan {sql}", parameters or ANYTHING)
        return "\n".join(row[3] for row in rows)

    return await storage._readers.read(explain)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("stream_events", "event_version (stream=? AND version>?)"),
        ("session_events", "event_session (session=? AND stream=? AND version>?)"),
        ("item_events", "event_item (session=? AND item=? AND version>?)"),
        ("log_events", "INTEGER PRIMARY KEY (rowid>?)"),
        ("log_events_of_kinds", "INTEGER PRIMARY KEY (rowid>?)"),
        ("stream_state", "event_version (stream=?)"),
        ("streams", "sqlite_autoindex_name_1 (name>?)"),
        ("forget_events", "event_version (stream=?)"),
        ("name_id", "sqlite_autoindex_name_1 (name=?)"),
        ("name_of", "INTEGER PRIMARY KEY (rowid=?)"),
    ],
)
async def test_a_read_follows_its_index(storage: SqliteStorage, query: str, index: str) -> None:
    """No event is looked at that is not asked for, and none is sorted."""
    plan = await _plan(storage, QUERIES[query])
    assert index in plan
    assert "SCAN event" not in plan
    assert "TEMP B-TREE" not in plan


async def test_the_head_is_one_step_to_the_end(storage: SqliteStorage) -> None:
    """SQLite knows the largest key without reading the others."""
    program = await storage._readers.read(
        lambda reader: reader.conn.execute(f"explain {QUERIES['head']}").fetchall()
    )
    assert "Last" in {row[1] for row in program}


@pytest.mark.parametrize("order", [None, *(index.name for index in CARD.indexes)])
@pytest.mark.parametrize("has_page_before", [False, True])
async def test_rows_are_listed_without_sorting(
    storage: SqliteStorage, order: str | None, has_page_before: bool
) -> None:
    """Also a later page, which begins by a look-up and not by counting."""
    table = RowTable(CARD)
    after = card("a") if has_page_before else None
    sql, parameters = table.list_statement(where={}, order=order, after=after, limit=5)
    plan = await _plan(storage, sql, parameters)
    assert f"row_card:by:{order}" in plan if order else "row_card:key" in plan
    assert "TEMP B-TREE" not in plan
    assert plan.startswith("SEARCH" if has_page_before else "SCAN")


async def test_a_filter_on_the_first_column_of_an_order_is_a_look_up(
    storage: SqliteStorage,
) -> None:
    """A board with a hundred cards among a million is read by a hundred steps."""
    table = RowTable(CARD)
    sql, parameters = table.list_statement(
        where={"board": "main"}, order="by_board", after=card("a", rank=3), limit=5
    )
    plan = await _plan(storage, sql, parameters)
    assert "row_card:by:by_board (board=? AND rank<?)" in plan
    assert "TEMP B-TREE" not in plan


async def test_the_newest_items_of_a_long_session_cost_their_own_events(
    storage: SqliteStorage,
) -> None:
    """A hundred among thousands: what SQLite does grows with the hundred only."""

    async def steps(last: int) -> int:
        count = 0

        def note() -> int:
            nonlocal count
            count += 1
            return 0

        def read(reader: Reader) -> None:
            reader.conn.set_progress_handler(note, 1)
            session = reader.number_of("session-1")
            for number in range(last - 100, last):
                rows = reader.conn.execute(
                    QUERIES["item_events"],
                    {**ANYTHING, "session": session, "item": f"item-{number}", "limit": -1},
                ).fetchall()
                assert len(rows) == 1
            reader.conn.set_progress_handler(None, 0)

        await storage._readers.read(read)
        return count

    async def grow(first: int, last: int) -> None:
        events = [
            event(session_id="session-1", item_id=f"item-{number}") for number in range(first, last)
        ]
        await storage.append([write("run-1", first, *events)])

    await grow(0, 200)
    early = await steps(200)
    await grow(200, 20_000)
    assert await steps(20_000) <= early * 1.1


async def test_words_are_found_before_rows_are_looked_at(storage: SqliteStorage) -> None:
    """The index gives the rows, newest first, and each is fetched by its number."""
    await storage.append([], [PutRow(table="card", row=card("a"), text={"content": "apple"})])
    sql, parameters = RowTable(CARD).search_statement({"board": "main"})
    plan = await _plan(storage, sql, ['"apple"', *parameters, 5])
    assert "SCAN i VIRTUAL TABLE INDEX" in plan
    assert "SEARCH r USING INTEGER PRIMARY KEY" in plan
    assert "TEMP B-TREE" not in plan
