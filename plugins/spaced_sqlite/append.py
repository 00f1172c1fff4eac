"""The SQL of the writing connection: what one append does inside an open transaction.

Everything that decides is read from the database inside the transaction, never from memory, so a
second process that writes to the same file is merely slower. Only numbers of names are remembered,
since they never change; a rollback forgets them, for it may have undone one.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, assert_never

from spaced.plugin_api import (
    Appended,
    Clock,
    DeleteRow,
    InsertRow,
    Key,
    KeyTaken,
    NewEvent,
    PutRow,
    RecordedEvent,
    Row,
    RowWrite,
    StaleVersion,
    StreamPurged,
    StreamWrite,
    streams_of_rows,
)
from spaced_sqlite.driver import sqlite3
from spaced_sqlite.row_tables import RowTable
from spaced_sqlite.search_index import SearchIndex
from spaced_sqlite.statements import QUERIES

_REMEMBERED_NAMES: Final = 20_000

_HEAD = QUERIES["head"]
_NAME_ID = QUERIES["name_id"]
_STREAM_STATE = QUERIES["stream_state"]
_ADD_EVENT = QUERIES["add_event"]


class EventLog:
    """The log as its one writing connection sees it."""

    def __init__(
        self,
        conn: sqlite3.Connection,
        tables: Mapping[str, RowTable],
        clock: Clock,
        *,
        retired: Sequence[RowTable] = (),
    ) -> None:
        self.conn = conn
        self.tables = tables
        self.retired = retired
        self.indexes = {
            name: SearchIndex(conn, table) for name, table in tables.items() if table.has_words
        }
        self._clock = clock
        self._names: dict[str, int] = {}
        self._head = 0
        self._now = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what the block writes, or nothing of it if it raises."""
        self.conn.execute("begin immediate")
        try:
            self._head = self.conn.execute(_HEAD).fetchone()[0]
            self._now = self._clock.now()
            yield
            self.conn.execute("commit")
        except BaseException:
            self._names.clear()
            # A full disk ends the transaction by itself.
            if self.conn.in_transaction:
                self.conn.execute("rollback")
            raise

    @contextmanager
    def part(self) -> Iterator[None]:
        """Undo only what the block writes if it raises, and keep the rest of the transaction."""
        head = self._head
        self.conn.execute("savepoint part")
        try:
            yield
        except BaseException:
            self._names.clear()
            self._head = head
            if self.conn.in_transaction:
                self.conn.execute("rollback to part")
                self.conn.execute("release part")
            raise
        self.conn.execute("release part")

    def append(self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite]) -> Appended:
        """Write events and rows into the open transaction.

        Raises:
            ConflictingWrite: a stream or a key is not as expected.
            StreamPurged: a stream, or one that a row belongs to, is fenced.
        """
        # All versions are looked at before anything is written, so that a refusal is cheap.
        streams = [self._checked_stream(write) for write in writes]
        for stream_name in sorted(streams_of_rows(rows) - {write.stream for write in writes}):
            self._refuse_fenced(stream_name)
        events: list[RecordedEvent] = []
        for write, stream in zip(writes, streams, strict=True):
            if write.events:
                events += self._add_events(write, stream or self.name_id(write.stream))
        for row_write in rows:
            self._write_row(row_write)
        return Appended(events=events, position=self._head)

    @property
    def head(self) -> int:
        """The largest position, inside the open transaction."""
        return self._head

    def find_name(self, name: str) -> int | None:
        """Return a name's number, if it has one."""
        found = self._names.get(name)
        if found is None:
            row = self.conn.execute(_NAME_ID, {"name": name}).fetchone()
            if row is None:
                return None
            found = self._remember(name, int(row[0]))
        return found

    def name_id(self, name: str) -> int:
        """Return a name's number, giving it one if need be."""
        found = self.find_name(name)
        if found is not None:
            return found
        added = self.conn.execute(QUERIES["add_name"], {"name": name}).lastrowid
        assert added is not None
        return self._remember(name, added)

    def _remember(self, name: str, number: int) -> int:
        if len(self._names) >= _REMEMBERED_NAMES:
            self._names.clear()
        self._names[name] = number
        return number

    def _checked_stream(self, write: StreamWrite) -> int | None:
        stream = self.find_name(write.stream)
        version, is_purged = 0, False
        if stream is not None:
            version, is_purged = self.conn.execute(_STREAM_STATE, {"stream": stream}).fetchone()
        if is_purged:
            raise StreamPurged(write.stream)
        if version != write.expected_version:
            raise StaleVersion(write.stream, expected=write.expected_version, found=version)
        return stream

    def _refuse_fenced(self, stream_name: str) -> None:
        stream = self.find_name(stream_name)
        if (
            stream is not None
            and self.conn.execute(_STREAM_STATE, {"stream": stream}).fetchone()[1]
        ):
            raise StreamPurged(stream_name)

    def _add_events(self, write: StreamWrite, stream: int) -> list[RecordedEvent]:
        first, version = self._head + 1, write.expected_version + 1
        recorded = [
            _recorded(event, write.stream, version + place, first + place, self._now)
            for place, event in enumerate(write.events)
        ]
        name_id = self.name_id
        self.conn.executemany(
            _ADD_EVENT,
            [
                (
                    event.position,
                    stream,
                    event.version,
                    name_id(event.kind),
                    None if event.session_id is None else name_id(event.session_id),
                    event.item_id,
                    event.body,
                    event.created_at,
                    event.recorded_at,
                )
                for event in recorded
            ],
        )
        self._head += len(recorded)
        return recorded

    def _write_row(self, write: RowWrite) -> None:
        table = self.tables[write.table]
        match write:
            case DeleteRow(key=key):
                self._delete_row(table, key)
            case InsertRow(row=row, text=text):
                added = self.conn.execute(table.insert_sql, table.values(row))
                if added.rowcount == 0:
                    raise KeyTaken(write.table, table.declared.key_of(row))
                if text:
                    self._index_row(table, table.declared.key_of(row), text)
            case PutRow(row=row, text=text):
                self._put_row(table, row)
                if text is not None and table.has_words:
                    self._index_row(table, table.declared.key_of(row), text)
            case _:
                assert_never(write)

    def _put_row(self, table: RowTable, row: Row) -> None:
        """Insert a row, or write those of its columns that change.

        SQLite writes every index that holds a column which an update names, whether or not its
        value changes; most rows change in one or two columns and have three indexes.
        """
        key, values = table.declared.key_of(row), table.values(row)
        found = self.conn.execute(table.get_sql, key).fetchone()
        if found is None:
            self.conn.execute(table.insert_sql, values)
            return
        changed = tuple([place for place, value in enumerate(values) if value != found[place]])
        if changed:
            new = [values[place] for place in changed]
            self.conn.execute(table.update_sql(changed), (*new, *key))

    def _index_row(self, table: RowTable, key: Key, text: Mapping[str, str]) -> None:
        row_id = self.conn.execute(table.id_sql, key).fetchone()[0]
        self.indexes[table.declared.name].replace(row_id, text)

    def _delete_row(self, table: RowTable, key: Key) -> None:
        if table.has_words:
            found = self.conn.execute(table.id_sql, key).fetchone()
            if found is not None:
                self.indexes[table.declared.name].remove(found[0])
        self.conn.execute(table.delete_sql, key)


def _recorded(event: NewEvent, stream: str, version: int, position: int, now: int) -> RecordedEvent:
    return RecordedEvent(
        stream=stream,
        version=version,
        position=position,
        kind=event.kind,
        body=event.body,
        created_at=event.created_at,
        recorded_at=now,
        session_id=event.session_id,
        item_id=event.item_id,
    )
