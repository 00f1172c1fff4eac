"""A storage in memory: the readable specification of the protocol.

No method of `MemoryStorage` waits for anything. Each one happens in a single step of the event
loop, so nothing comes between its parts, appends never wait for each other, and a caller that is
cancelled was cancelled before or after its append. A real storage has to work for that.

A `MemoryDisk` holds what would survive the process. A new `MemoryStorage` over the same disk is a
restart after a crash; a copy of the disk is a copy of the files at that moment.
"""

import logging
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cmp_to_key
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import cast

import msgspec
from msgspec import msgpack

from spaced import errors
from spaced.clock import Clock
from spaced.log.record import NewEvent, RecordedEvent, StreamWrite
from spaced.log.table import (
    STREAM_COLUMN,
    DeleteRow,
    IndexColumn,
    InsertRow,
    Key,
    PutRow,
    Row,
    RowWrite,
    Scalar,
    Table,
)
from spaced.storage import protocol
from spaced.storage.checks import (
    check_append,
    check_keys,
    check_listing,
    check_search,
    declared,
    streams_of_rows,
)
from spaced.storage.memory_disk import Entry, MemoryDisk, read_backup, write_backup
from spaced.storage.protocol import Appended, BlobId, Hits, Rows, StreamHead

log = logging.getLogger(__name__)

_WORD = re.compile(r"([^\W_]+)(\*?)")
_WORD_LENGTH = 64


class MemoryStorage:
    """Keeps a log, rows and blobs on a `MemoryDisk`."""

    def __init__(self, disk: MemoryDisk, *, tables: Sequence[Table], clock: Clock) -> None:
        self.log_id = disk.log_id
        self.on_committed: protocol.OnCommitted = lambda _: None
        self._disk_or_closed: MemoryDisk | None = disk
        self._tables = {table.name: table for table in tables}
        self._clock = clock
        self._fresh_blobs: set[str] = set()
        for table in tables:
            self._declare(table, disk)

    def _declare(self, table: Table, disk: MemoryDisk) -> None:
        """Empty a derived table that is new or other than before; the core rebuilds it."""
        before = disk.declared.get(table.name)
        disk.declared[table.name] = table
        disk.entries.setdefault(table.name, {})
        is_same = before is not None and replace(before, indexes=table.indexes) == table
        if table.role == "derived" and not is_same:
            disk.entries[table.name] = {}
            if before is not None or disk.position > 0:
                disk.unfilled.add(table.name)

    @property
    def _disk(self) -> MemoryDisk:
        if self._disk_or_closed is None:
            raise errors.StorageClosed("the storage in memory was closed")
        return self._disk_or_closed

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        """Check everything, then change everything, and only then tell."""
        del bulk  # nothing waits here, so there is nobody to let go first
        disk = self._disk
        check_append(writes, rows, self._tables)
        for write in writes:
            self._check_version(write)
        for stream in sorted(streams_of_rows(rows) & disk.fenced):
            raise errors.StreamPurged(stream)
        self._check_inserts(rows)
        events = [self._record(write.stream, new) for write in writes for new in write.events]
        for row_write in rows:
            self._apply(row_write)
        if events:
            self._announce(events)
        return Appended(events=events, position=disk.position)

    def _check_version(self, write: StreamWrite) -> None:
        if write.stream in self._disk.fenced:
            raise errors.StreamPurged(write.stream)
        found = len(self._disk.streams.get(write.stream, ()))
        if found != write.expected_version:
            raise errors.StaleVersion(write.stream, expected=write.expected_version, found=found)

    def _check_inserts(self, rows: Sequence[RowWrite]) -> None:
        exists: dict[tuple[str, Key], bool] = {}
        for write in rows:
            key = self._key_of(write)
            was_there = exists.get((write.table, key), key in self._disk.entries[write.table])
            if isinstance(write, InsertRow) and was_there:
                raise errors.KeyTaken(write.table, key)
            exists[write.table, key] = not isinstance(write, DeleteRow)

    def _key_of(self, write: RowWrite) -> Key:
        if isinstance(write, DeleteRow):
            return write.key
        return self._tables[write.table].key_of(write.row)

    def _record(self, name: str, new: NewEvent) -> RecordedEvent:
        stream = self._disk.streams.setdefault(name, [])
        self._disk.position += 1
        event = RecordedEvent(
            stream=name,
            version=len(stream) + 1,
            position=self._disk.position,
            recorded_at=self._clock.now(),
            **msgspec.structs.asdict(new),
        )
        stream.append(event)
        self._disk.events.append(event)
        return event

    def _apply(self, write: RowWrite) -> None:
        entries = self._disk.entries[write.table]
        key = self._key_of(write)
        before = entries.pop(key, None)
        match write:
            case PutRow(row=row, text=None) if before is not None:
                entries[key] = Entry(row=dict(row), words=before.words, indexed=before.indexed)
            case PutRow(row=row, text=text) | InsertRow(row=row, text=text):
                self._disk.indexings += 1
                words = frozenset(word for t in (text or {}).values() for word, _ in _words_of(t))
                entries[key] = Entry(row=dict(row), words=words, indexed=self._disk.indexings)

    def _announce(self, events: Sequence[RecordedEvent]) -> None:
        try:
            self.on_committed(tuple(events))
        except Exception:
            log.exception("a listener failed", extra={"event": "on-committed-failed"})

    async def head(self) -> int:
        """Return the last position ever given; it does not fall when a stream is purged."""
        return self._disk.position

    async def read_stream(
        self,
        stream: str,
        *,
        after: int = 0,
        limit: int | None = None,
        session_id: str | None = None,
        item_ids: Sequence[str] | None = None,
    ) -> Sequence[RecordedEvent]:
        """Return a stream's events in version order."""
        if item_ids is not None and session_id is None:
            raise ValueError("items are asked for without their session")
        found = [
            event
            for event in self._disk.streams.get(stream, ())[max(after, 0) :]
            if (session_id is None or event.session_id == session_id)
            and (item_ids is None or event.item_id in item_ids)
        ]
        return found[:limit]

    async def read_items(
        self, wanted: Mapping[tuple[str, str], Sequence[str]]
    ) -> Sequence[RecordedEvent]:
        """Return events about items in position order."""
        found = [
            event
            for (stream, session_id), item_ids in wanted.items()
            for event in self._disk.streams.get(stream, ())
            if event.session_id == session_id and event.item_id in item_ids
        ]
        return sorted(found, key=attrgetter("position"))

    async def version(self, stream: str) -> int:
        """Return how many events a stream has."""
        return len(self._disk.streams.get(stream, ()))

    async def read_all(
        self, *, after: int, limit: int, kinds: Sequence[str] | None = None
    ) -> Sequence[RecordedEvent]:
        """Return events in position order."""
        events = self._disk.events
        start = bisect_right(events, after, key=attrgetter("position"))
        return [e for e in events[start:] if kinds is None or e.kind in kinds][:limit]

    async def list_streams(self, *, after: str = "", limit: int) -> Sequence[StreamHead]:
        """Return the streams that hold events, ordered by name."""
        streams = sorted(self._disk.streams.items())
        heads = [StreamHead(stream=name, version=len(events)) for name, events in streams]
        return [head for head in heads if head.stream > after][:limit]

    async def get_rows(self, table: str, keys: Sequence[Key]) -> Rows:
        """Return the rows that exist among these keys."""
        check_keys(declared(self._tables, table), keys)
        entries = self._disk.entries[table]
        rows = [dict(entries[key].row) for key in keys if key in entries]
        return Rows(rows=rows, as_of_position=self._disk.position)

    async def get_rows_of(self, wanted: Mapping[str, Sequence[Key]]) -> Mapping[str, Rows]:
        """Return rows of several tables; nothing can come between them here."""
        return {table: await self.get_rows(table, keys) for table, keys in wanted.items()}

    async def list_rows(
        self,
        table: str,
        *,
        where: Mapping[str, Scalar] | None = None,
        order: str | None = None,
        after: Row | None = None,
        limit: int | None = None,
    ) -> Rows:
        """Return a page of rows in the order of an index, or of their keys."""
        check_listing(declared(self._tables, table), where=where, order=order, after=after)
        compare = _comparison(self._tables[table], order)
        found = [e.row for e in self._disk.entries[table].values() if _matches(e.row, where)]
        behind = [row for row in found if after is None or compare(after, row) < 0]
        page = sorted(behind, key=cmp_to_key(compare))[:limit]
        return Rows(rows=[dict(row) for row in page], as_of_position=self._disk.position)

    async def search(
        self, table: str, query: str, *, where: Mapping[str, Scalar] | None = None, limit: int
    ) -> Hits:
        """Find rows that hold every word of a query, newest indexed first."""
        check_search(declared(self._tables, table), where=where)
        wanted = _words_of(query)
        if not wanted:
            raise errors.UnusableQuery(f"{query!r} holds no word to search for")
        found = [
            (-entry.indexed, key)
            for key, entry in self._disk.entries[table].items()
            if _matches(entry.row, where) and all(_holds(entry, *word) for word in wanted)
        ]
        keys = [key for _, key in sorted(found)]
        return Hits(keys=keys[:limit], as_of_position=self._disk.position)

    async def put_blob(self, content: bytes) -> BlobId:
        """Store content under the id of its digest."""
        blob_id = BlobId(f"blob_{sha256(content).hexdigest()}")
        self._disk.blobs[blob_id] = bytes(content)
        self._fresh_blobs.add(blob_id)
        return blob_id

    async def get_blob(self, blob_id: str) -> bytes:
        """Return a blob's content."""
        content = self._disk.blobs.get(blob_id)
        if content is None:
            raise errors.UnknownBlob(blob_id)
        return content

    async def list_blobs(self, *, after: str = "", limit: int) -> Sequence[str]:
        """Return ids of blobs in their order."""
        return sorted(blob_id for blob_id in self._disk.blobs if blob_id > after)[:limit]

    async def purge(self, stream: str) -> None:
        """Remove a stream's events and rows, and fence its name."""
        disk = self._disk
        disk.fenced.add(stream)
        disk.streams.pop(stream, None)
        disk.events = [event for event in disk.events if event.stream != stream]
        for name in (table.name for table in disk.declared.values() if table.is_purgeable):
            kept = disk.entries[name].items()
            disk.entries[name] = {k: e for k, e in kept if e.row[STREAM_COLUMN] != stream}

    async def reclaim(self, unused_blobs: Sequence[str]) -> protocol.Reclaimed:
        """Remove blobs, except those put since the last call."""
        blobs = self._disk.blobs
        removed = [blobs.pop(i) for i in set(unused_blobs) - self._fresh_blobs if i in blobs]
        self._fresh_blobs.clear()
        return protocol.Reclaimed(blobs=len(removed), bytes=sum(map(len, removed)))

    async def backup(self, target: Path) -> None:
        """Write everything into one file of a new or empty folder."""
        write_backup(msgpack.encode(self._disk), target)

    async def mark_filled(self, tables: Sequence[str]) -> None:
        """Take tables off the list of those that wait for a rebuild."""
        self._disk.unfilled -= {declared(self._tables, name).name for name in tables}

    async def describe(self) -> protocol.StorageReport:
        """Return what there is to know about a storage in memory."""
        sizes = {
            "events": sum(len(event.body) for event in self._disk.events),
            "blobs": sum(map(len, self._disk.blobs.values())),
        }
        return protocol.StorageReport(
            engine="memory",
            location="in this process",
            sizes=sizes,
            unfilled_tables=sorted(self._disk.unfilled),
        )

    async def close(self) -> None:
        """Take no more calls; the disk stays as it is."""
        self._disk_or_closed = None


class MemoryStorageFactory:
    """Opens storages in memory: one disk for each folder's name, and no file in any folder."""

    def __init__(self) -> None:
        self.disks: dict[Path, MemoryDisk] = {}

    async def open(self, place: protocol.StoragePlace) -> MemoryStorage:
        """Open a folder's disk, an empty one if it has none."""
        disk = self.disks.setdefault(place.folder, MemoryDisk())
        return MemoryStorage(disk, tables=place.tables, clock=place.clock)

    async def restore(self, backup: Path, place: protocol.StoragePlace) -> None:
        """Give a folder a disk from a backup, with a log id of its own."""
        if place.folder in self.disks:
            raise errors.StorageRefused(f"{str(place.folder)!r} is not empty")
        self.disks[place.folder] = disk = read_backup(backup)
        disk.log_id = MemoryDisk().log_id


def _comparison(table: Table, order: str | None) -> Callable[[Row, Row], int]:
    ordered = table.index(order).columns if order is not None else ()
    columns = [*ordered, *(IndexColumn(name=name) for name in table.key)]

    def compare(left: Row, right: Row) -> int:
        for column in columns:
            # Key and index columns are never null, and one column holds one type.
            a, b = cast("int", left[column.name]), cast("int", right[column.name])
            if a != b:
                return -1 if (a < b) is not column.descending else 1
        return 0

    return compare


def _matches(row: Row, where: Mapping[str, Scalar] | None) -> bool:
    return all(row[name] == value for name, value in (where or {}).items())


def _words_of(text: str) -> set[tuple[str, bool]]:
    return {(w.casefold()[:_WORD_LENGTH], bool(star)) for w, star in _WORD.findall(text)}


def _holds(entry: Entry, wanted: str, is_beginning: bool) -> bool:
    if is_beginning:
        return any(word.startswith(wanted) for word in entry.words)
    return wanted in entry.words
