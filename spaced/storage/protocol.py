"""The storage protocol: what the core asks of a storage and what a storage promises.

The promises, each proved by `spaced.testing.storage_contract`:

1. An append is atomic over all its streams and rows, and returns only when its bytes would survive
   a power cut.
2. Versions of a stream are contiguous from 1. Positions ascend over the whole log and are never
   used twice, also not after a purge. A position is visible only when all smaller ones are.
3. Committed events reach `on_committed` in position order, each once, on the event loop, and
   before the append that wrote them returns.
4. Appends that wait together may share a commit, but the conflict of one never fails another. Bulk
   appends share with nobody and let waiting ones go first.
5. An append whose caller is cancelled happens once or not at all; it is never half there.
6. A refused append changes nothing. After `StorageFull` reading goes on, and so does writing once
   there is space.

`spaced.storage.memory` keeps these promises in the fewest lines; read it to understand them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NewType, Protocol

from spaced.clock import Clock
from spaced.log.record import RecordedEvent, StreamWrite
from spaced.log.table import Key, Row, RowWrite, Scalar, Table

MAX_APPEND_BYTES: Final = 8 * 1024 * 1024
"""The most that one append may weigh, counted by `spaced.storage.checks.size_of`."""

BlobId = NewType("BlobId", str)
"""`blob_` and the SHA-256 of the content in hex."""

OnCommitted = Callable[[Sequence[RecordedEvent]], None]
"""Receives each committed batch; it must be quick, and what it raises is logged and never felt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What an append recorded.

    Attributes:
        events: the recorded events, in the order of the writes.
        position: the log's position right after this append.
    """

    events: Sequence[RecordedEvent]
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows, and the log position of which they are true."""

    rows: Sequence[Row]
    as_of_position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """Keys of rows that match a search, best first, and the log position of which this is true."""

    keys: Sequence[Key]
    as_of_position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamHead:
    """A stream and its newest version."""

    stream: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaimed:
    """What a clean-up gave back."""

    blobs: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageReport:
    """Facts for `spaced status` and `spaced doctor`.

    Attributes:
        engine: name and version of what keeps the data (`"SQLite 3.51.3"`).
        location: where it lies, in words a person can use.
        sizes: bytes by part (`{"database": …, "blobs": …}`).
        warnings: sentences that a person should act on.
        unfilled_tables: derived tables that were made empty on a log that has events, since they
            are new or declared otherwise; they hold too few rows until `mark_filled`.
    """

    engine: str
    location: str
    sizes: Mapping[str, int]
    warnings: Sequence[str] = ()
    unfilled_tables: Sequence[str] = ()


class Storage(Protocol):
    """A durable log of events with rows beside it, and a store of blobs."""

    log_id: str
    """Names this log; part of every cursor. A restored copy is another log."""

    on_committed: OnCommitted
    """Set once by the core, before the first append."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        """Record events and rows, all or nothing.

        Args:
            writes: each for another stream; may be empty if only rows are written.
            rows: applied in their order.
            bulk: long work that may wait: it shares no commit and lets other appends go first.

        Raises:
            StaleVersion: a stream is not at its expected version.
            KeyTaken: an inserted row's key exists.
            StreamPurged: a stream was purged, or a row that is written belongs to such a stream.
            AppendTooLarge: over `MAX_APPEND_BYTES`.
            StorageFull: there is no space; nothing was written.
            StorageClosed: the storage was closed before the append began.
        """
        ...

    async def head(self) -> int:
        """Return the largest visible position, 0 for an empty log."""
        ...

    async def read_stream(
        self,
        stream: str,
        *,
        after: int = 0,
        limit: int | None = None,
        session_id: str | None = None,
        item_ids: Sequence[str] | None = None,
    ) -> Sequence[RecordedEvent]:
        """Return a stream's events in version order.

        Args:
            stream: its name; an unknown or purged one has no events.
            after: only events with a larger version.
            limit: the most events to return.
            session_id: only events about this session, found by index.
            item_ids: only events about these items of `session_id`, found by index.

        Raises:
            ValueError: `item_ids` without `session_id`.
        """
        ...

    async def read_items(
        self, wanted: Mapping[tuple[str, str], Sequence[str]]
    ) -> Sequence[RecordedEvent]:
        """Return the events about some items of several sessions, in position order.

        It is `read_stream` with `item_ids` for each of them, all as of one position and, where
        reading is a trip to another thread or machine, one trip instead of many.

        Args:
            wanted: by stream and session, the ids of items; what is unknown has no events.
        """
        ...

    async def version(self, stream: str) -> int:
        """Return the version that a stream is at; 0 for one without events or a purged one."""
        ...

    async def read_all(
        self, *, after: int, limit: int, kinds: Sequence[str] | None = None
    ) -> Sequence[RecordedEvent]:
        """Return events of the whole log in position order, optionally of some kinds only."""
        ...

    async def list_streams(self, *, after: str = "", limit: int) -> Sequence[StreamHead]:
        """Return streams that hold events, ordered by name, from the one behind `after` on."""
        ...

    async def get_rows(self, table: str, keys: Sequence[Key]) -> Rows:
        """Return the rows that exist among these keys, in the order of the keys.

        A key that is given twice has its row in the answer twice.

        Raises:
            ValueError: the table is not declared.
        """
        ...

    async def get_rows_of(self, wanted: Mapping[str, Sequence[Key]]) -> Mapping[str, Rows]:
        """Do `get_rows` for several tables, all as of one position.

        A command decides on rows of more than one table, so it wants them from one moment; and
        where reading is a trip to another thread or machine, one trip instead of several.
        """
        ...

    async def list_rows(
        self,
        table: str,
        *,
        where: Mapping[str, Scalar] | None = None,
        order: str | None = None,
        after: Row | None = None,
        limit: int | None = None,
    ) -> Rows:
        """Return a page of rows.

        Args:
            table: its declared name.
            where: columns and the values they must equal (`None` matches null).
            order: the name of a declared index; without one rows follow their keys, ascending.
            after: the last row of the page before, so one of the same listing. It must have the
                ordered and key columns, and match `where` in every column that it has.
            limit: the most rows to return.

        Raises:
            ValueError: a table, column or index is not declared, or `after` is of another listing.
        """
        ...

    async def search(
        self, table: str, query: str, *, where: Mapping[str, Scalar] | None = None, limit: int
    ) -> Hits:
        """Find rows whose indexed texts together hold every word of a query.

        A word is a run of letters and digits, case-folded; everything else separates, `_` too. Of
        a longer word only the first 64 characters count, in texts and in queries. Words are
        distinct: how often and where a text holds one, or a query names it, makes no difference. A
        word of the query with a trailing `*` matches beginnings. What counts as best first is the
        storage's to say.

        Raises:
            UnusableQuery: the query holds no word.
            ValueError: a table or column is not declared, or the table has no text columns.
        """
        ...

    async def put_blob(self, content: bytes) -> BlobId:
        """Store content under the id of its digest, durably; storing it again is free.

        Raises:
            StorageFull: there is no space; nothing was stored.
        """
        ...

    async def get_blob(self, blob_id: str) -> bytes:
        """Return a blob's content.

        Raises:
            UnknownBlob: there is none of this id.
        """
        ...

    async def list_blobs(self, *, after: str = "", limit: int) -> Sequence[str]:
        """Return ids of stored blobs, ordered by code points, from the one behind `after` on.

        Whether a blob is named by anything makes no difference. One that is put or removed between
        two pages may or may not be listed; every other one is, once.
        """
        ...

    async def purge(self, stream: str) -> None:
        """Remove a stream's events, its rows and their words in the index, for good.

        The name stays fenced: any later append to it raises `StreamPurged`. Readers skip the holes
        that its positions leave. Purging twice, or a stream that never was, fences it all the same.
        """
        ...

    async def reclaim(self, unused_blobs: Sequence[str]) -> Reclaimed:
        """Remove blobs and give free space back.

        A blob that was put since the last call is spared: the event that names it may be
        on its way.
        """
        ...

    async def backup(self, target: Path) -> None:
        """Write a consistent copy into a new or empty folder while writing goes on.

        Raises:
            StorageRefused: the folder is not empty.
            StorageFull: there is no space there; what was begun is removed.
        """
        ...

    async def mark_filled(self, tables: Sequence[str]) -> None:
        """Note that these derived tables hold all their rows; the core says so after a rebuild.

        Raises:
            ValueError: a table is not declared.
        """
        ...

    async def describe(self) -> StorageReport:
        """Return facts for `spaced status` and `spaced doctor`."""
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of every resource; closing twice is fine."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoragePlace:
    """Where a storage lives and what it needs to know.

    Attributes:
        folder: a folder of the storage's own; it may not exist yet.
        tables: the core's tables; a storage keeps exactly these.
        clock: for the time of recording.
        options: the user's settings for this storage, as strings.
    """

    folder: Path
    tables: Sequence[Table]
    clock: Clock
    options: Mapping[str, str] = field(default_factory=dict)


class StorageFactory(Protocol):
    """What a plugin registers for a storage."""

    async def open(self, place: StoragePlace) -> Storage:
        """Open the storage, creating it in an empty folder.

        Raises:
            StorageRefused: what lies there is foreign, newer, damaged or not ours to open.
        """
        ...

    async def restore(self, backup: Path, place: StoragePlace) -> None:
        """Put a backup into an empty place, as a log of its own with a new id.

        Raises:
            StorageRefused: the place is not empty, or the backup is not one.
        """
        ...
