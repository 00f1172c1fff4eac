"""Checks that every storage makes before it writes; a wrong call raises `ValueError`."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from spaced.errors import AppendTooLarge
from spaced.log.record import NewEvent, StreamWrite
from spaced.log.table import DeleteRow, InsertRow, PutRow, Row, RowWrite, Table
from spaced.storage.protocol import MAX_APPEND_BYTES

_ENVELOPE_BYTES = 64
_INTEGERS = 2**63


def check_append(
    writes: Sequence[StreamWrite], rows: Sequence[RowWrite], tables: Mapping[str, Table]
) -> int:
    """Refuse an append that no storage should see; return its weight in bytes.

    Raises:
        AppendTooLarge: it weighs more than `MAX_APPEND_BYTES`.
        ValueError: a stream is named twice, a table is unknown, or a row does not fit its table.
    """
    streams = [write.stream for write in writes]
    if len(set(streams)) != len(streams):
        raise ValueError(f"an append names a stream twice: {streams}")
    if any(write.expected_version < 0 for write in writes):
        raise ValueError("an expected version is negative")
    for row_write in rows:
        _check_row(row_write, tables)
    size = size_of(writes, rows)
    if size > MAX_APPEND_BYTES:
        raise AppendTooLarge(size, MAX_APPEND_BYTES)
    return size


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
    table = tables.get(write.table)
    if table is None:
        raise ValueError(f"there is no table {write.table!r}")
    match write:
        case DeleteRow(key=key):
            if len(key) != len(table.key):
                raise ValueError(f"{key!r} is no key of table {table.name!r}")
        case PutRow(row=row, text=text) | InsertRow(row=row, text=text):
            _check_values(table, row)
            if not set(text or ()) <= set(table.text_columns):
                raise ValueError(
                    f"table {table.name!r} has no such text column: {sorted(text or ())}"
                )
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
        if isinstance(value, int) and not -_INTEGERS <= value < _INTEGERS:
            raise ValueError(f"column {column.name!r} of table {table.name!r} holds {value!r}")
