"""Bringing the tables in the file to what the core declares, when the storage opens.

Each declaration is kept in the file beside its table. Other indexes, and new columns that may be
null, are made in place. For any other change a *derived* table is made anew, empty: it is listed as
unfilled until the core says that it was rebuilt. An *own* table cannot be rebuilt, so such a change
is refused. A table that is no longer declared is left alone, for the version that knows it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import msgspec
from sqlite_utils import Database

from spaced.plugin_api import StorageRefused, Table
from spaced_sqlite.append import EventLog
from spaced_sqlite.driver import sqlite3
from spaced_sqlite.row_tables import (
    RowTable,
    create_row_indexes,
    create_row_table,
    create_word_index,
    drop_row_indexes,
    drop_row_table,
    quoted,
)
from spaced_sqlite.statements import QUERIES

_OWN_REMEDY: Final = "Install the spaced that made this data directory, or use another one."


def declare_tables(conn: sqlite3.Connection, tables: Mapping[str, RowTable]) -> Sequence[RowTable]:
    """Make and change tables so that each is as declared, all or nothing.

    Returns the tables in the file that are no longer declared.

    Raises:
        StorageRefused: a table that cannot be rebuilt would lose rows.
    """
    db = Database(conn, execute_plugins=False, recursive_triggers=False)
    found = _declarations(conn)
    with db.atomic():
        for name, table in tables.items():
            _declare(db, table, found.get(name))
    return [RowTable(table) for name, table in found.items() if name not in tables]


def unfilled_tables(conn: sqlite3.Connection) -> Sequence[str]:
    """Return the derived tables that still wait for their rebuild."""
    return [str(name) for (name,) in conn.execute(QUERIES["unfilled_tables"])]


def mark_filled(event_log: EventLog, tables: Sequence[str]) -> None:
    """Take derived tables off the list of those that wait for their rebuild, all or none."""
    with event_log.transaction():
        event_log.conn.executemany(QUERIES["mark_filled"], [{"name": name} for name in tables])


def _declarations(conn: sqlite3.Connection) -> Mapping[str, Table]:
    rows = conn.execute(QUERIES["declarations"]).fetchall()
    return {name: msgspec.json.decode(text, type=Table) for name, text, _ in rows}


def _declare(db: Database, table: RowTable, found: Table | None) -> None:
    declared = table.declared
    if found == declared:
        return
    if found is None:
        create_row_table(db, table)
        _record(db, declared, is_unfilled=declared.role == "derived" and _has_events(db))
    elif _fits_in_place(found, declared):
        _change_in_place(db, table, found)
        _record_change(db, declared)
    elif declared.role == found.role == "derived":
        drop_row_table(db, table)
        create_row_table(db, table)
        _record(db, declared, is_unfilled=True)
    else:
        raise StorageRefused(
            f"table {declared.name!r} holds rows that cannot be rebuilt, and this version of "
            "spaced declares it differently",
            remedy=_OWN_REMEDY,
        )


def _fits_in_place(found: Table, declared: Table) -> bool:
    """Tell whether no row would be lost, and for a derived table also none be incomplete."""
    if replace(found, indexes=declared.indexes) == declared:
        return True
    known = {column.name: column for column in found.columns}
    added = [column for column in declared.columns if column.name not in known]
    kept = [column for column in declared.columns if column.name in known]
    return (
        declared.role == found.role == "own"
        and declared.key == found.key
        and len(kept) == len(known)
        and all(known[column.name] == column for column in kept)
        and not any(column.required for column in added)
        and found.text_columns in ((), declared.text_columns)
    )


def _change_in_place(db: Database, table: RowTable, found: Table) -> None:
    drop_row_indexes(db, table)
    known = {column.name for column in found.columns}
    for column in table.declared.columns:
        if column.name not in known:
            db.execute(
                f"alter table {quoted(table.name)} add column {quoted(column.name)} {column.type}"
            )
    create_row_indexes(db, table)
    if table.has_words and not found.text_columns:
        create_word_index(db, table)


def _record(db: Database, declared: Table, *, is_unfilled: bool) -> None:
    text = msgspec.json.encode(declared).decode()
    db.execute(
        QUERIES["declare_table"],
        {"name": declared.name, "declaration": text, "unfilled": int(is_unfilled)},
    )


def _record_change(db: Database, declared: Table) -> None:
    waiting = declared.name in unfilled_tables(db.conn)
    _record(db, declared, is_unfilled=waiting)


def _has_events(db: Database) -> bool:
    return int(db.execute(QUERIES["head"]).fetchone()[0]) > 0
