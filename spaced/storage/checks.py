"""Checks that every storage makes first; a wrong call is a bug and raises `ValueError`."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from spaced.errors import AppendTooLarge
from spaced.log.record import NewEvent, StreamWrite
from spaced.log.table import (
    STREAM_COLUMN,
    DeleteRow,
    InsertRow,
    Key,
    PutRow,
    Row,
    RowWrite,
    Scalar,
    Table,
)
from spaced.storage.protocol import MAX_APPEND_BYTES

_ENVELOPE_BYTES = 64
_INTEGERS = 2**63


def check_append(
    writes: Sequence[StreamWrite], rows: Sequence[RowWrite], tables: Mapping[str, Table]
) -> int:
    """Refuse an append that no storage should see; return its weight in bytes.

    Raises:
        AppendTooLarge: it weighs more than `MAX_APPEND_BYTES`.
        ValueError: a stream is named twice, a table is unknown, a row does not fit its table, or
            a name is no text that UTF-8 can hold.
    """
    streams = [write.stream for write in writes]
    if len(set(streams)) != len(streams):
        raise ValueError(f"an append names a stream twice: {streams}")
    if any(write.expected_version < 0 for write in writes):
        raise ValueError("an expected version is negative")
    for write in writes:
        _check_names(write)
    for row_write in rows:
        _check_row(row_write, tables)
    size = size_of(writes, rows)
    if size > MAX_APPEND_BYTES:
        raise AppendTooLarge(size, MAX_APPEND_BYTES)
    return size


def check_listing(
    table: Table,
    *,
    where: Mapping[str, Scalar] | None = None,
    order: str | None = None,
    after: Row | None = None,
) -> None:
    """Refuse a listing that the table's declaration does not allow.

    Raises:
        ValueError: a column or an index is not declared, `after` is of another listing, or no
            database can hold a value that is asked for.
    """
    if not all(map(_is_storable, [*(where or {}).values(), *(after or {}).values()])):
        raise ValueError(f"a listing of table {table.name!r} asks for what cannot be there")
    unknown = sorted(set(where or ()) - {column.name for column in table.columns})
    if unknown:
        raise ValueError(f"table {table.name!r} has no such column: {unknown}")
    if order is not None and all(index.name != order for index in table.indexes):
        raise ValueError(f"table {table.name!r} has no index {order!r}")
    if after is None:
        return
    ordered = [] if order is None else [column.name for column in table.index(order).columns]
    missing = sorted({*table.key, *ordered} - after.keys())
    if missing:
        raise ValueError(f"the row to go on from lacks {missing} of table {table.name!r}")
    if any(after[name] != value for name, value in (where or {}).items() if name in after):
        raise ValueError(f"the row to go on from is of another listing of table {table.name!r}")


def check_keys(table: Table, keys: Sequence[Key]) -> None:
    """Refuse keys that no row of the table can have.

    Raises:
        ValueError: a key has too few or too many parts, or one that no database can hold.
    """
    for key in keys:
        if len(key) != len(table.key) or not all(map(_is_storable, key)):
            raise ValueError(f"{key!r} is no key of table {table.name!r}")


def check_search(table: Table, *, where: Mapping[str, Scalar] | None = None) -> None:
    """Refuse a search that the table's declaration does not allow.

    Raises:
        ValueError: the table has no texts to search in, or a column is not declared.
    """
    if not table.text_columns:
        raise ValueError(f"table {table.name!r} has no text columns")
    check_listing(table, where=where)


def declared(tables: Mapping[str, Table], name: str) -> Table:
    """Return a declared table.

    Raises:
        ValueError: there is none of this name.
    """
    table = tables.get(name)
    if table is None:
        raise ValueError(f"there is no table {name!r}")
    return table


def streams_of_rows(rows: Sequence[RowWrite]) -> set[str]:
    """Return the streams that written rows belong to; a purged one takes no rows either."""
    return {
        stream
        for write in rows
        if not isinstance(write, DeleteRow)
        and isinstance(stream := write.row.get(STREAM_COLUMN), str)
    }


def size_of(writes: Sequence[StreamWrite], rows: Sequence[RowWrite]) -> int:
    """Return what an append weighs: bodies, row values and indexed texts, in bytes of UTF-8."""
    events = sum(_event_size(event) for write in writes for event in write.events)
    return events + sum(_row_size(write) for write in rows)


def _event_size(event: NewEvent) -> int:
    return len(event.body) + _ENVELOPE_BYTES


def _row_size(write: RowWrite) -> int:
    if isinstance(write, DeleteRow):
        return _ENVELOPE_BYTES
    texts = [*write.row.values(), *(write.text or {}).values()]
    return _ENVELOPE_BYTES + sum(len(t.encode()) if isinstance(t, str) else 8 for t in texts)


def _check_row(write: RowWrite, tables: Mapping[str, Table]) -> None:
    table = declared(tables, write.table)
    match write:
        case DeleteRow(key=key):
            check_keys(table, [key])
        case PutRow(row=row, text=text) | InsertRow(row=row, text=text):
            _check_values(table, row)
            if not set(text or ()) <= set(table.text_columns):
                raise ValueError(
                    f"table {table.name!r} has no such text column: {sorted(text or ())}"
                )
            if not all(map(_is_storable, (text or {}).values())):
                raise ValueError(f"a text for table {table.name!r} is no text")
        case _:
            assert_never(write)


def _check_values(table: Table, row: Row) -> None:
    if row.keys() != {column.name for column in table.columns}:
        raise ValueError(f"a row of table {table.name!r} has other columns: {sorted(row)}")
    for column in table.columns:
        value = row[column.name]
        wanted: type = str if column.type == "text" else int
        if value is None and column.required:
            raise ValueError(f"column {column.name!r} of table {table.name!r} is null")
        if value is not None and not isinstance(value, wanted):
            raise ValueError(f"column {column.name!r} of table {table.name!r} holds {value!r}")
        if not _is_storable(value):
            raise ValueError(f"column {column.name!r} of table {table.name!r} holds {value!r}")


def _check_names(write: StreamWrite) -> None:
    names = [write.stream]
    for event in write.events:
        if not _is_storable(event.created_at):
            raise ValueError(f"an event of {write.stream!r} happened at {event.created_at}")
        names += [event.kind, event.session_id or "", event.item_id or ""]
    if not _is_storable("".join(names)):
        raise ValueError(f"a name in an append to {write.stream!r} is no text: {names!r}")


def _is_storable(value: Scalar) -> bool:
    """Whether every database can hold the value: 64 bits, or text without lone surrogates."""
    if isinstance(value, int):
        return -_INTEGERS <= value < _INTEGERS
    try:
        (value or "").encode()
    except UnicodeEncodeError:
        return False
    return True
