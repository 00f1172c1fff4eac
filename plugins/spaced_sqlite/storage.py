"""The storage as the core sees it: who does which call, and in what order things close.

Appends and other writes go to the writer's thread, reads and files to the readers' threads; nothing
here blocks the event loop. An append is shielded: once it is queued it happens, whoever stops
waiting for it.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from spaced.plugin_api import (
    Appended,
    BlobId,
    Hits,
    Key,
    OnCommitted,
    Reclaimed,
    RecordedEvent,
    Row,
    Rows,
    RowWrite,
    Scalar,
    StorageClosed,
    StoragePlace,
    StorageReport,
    StreamHead,
    StreamWrite,
    check_append,
    check_keys,
    check_listing,
    check_search,
    declared,
)
from spaced_sqlite import event_reads, purge, row_reads
from spaced_sqlite.append import EventLog
from spaced_sqlite.backup import write_backup
from spaced_sqlite.blobs import BlobFolder
from spaced_sqlite.checkpoint import Checkpointer
from spaced_sqlite.declarations import mark_filled
from spaced_sqlite.layout import BLOBS, DATABASE, SNAPSHOTS
from spaced_sqlite.readers import Reader, ReaderPool
from spaced_sqlite.report import report
from spaced_sqlite.row_tables import RowTable
from spaced_sqlite.snapshot import remove_snapshots
from spaced_sqlite.writer import Writer

_DONE: Final = object()


class SqliteStorage:
    """Implements `spaced.plugin_api.Storage` on one folder."""

    def __init__(
        self, event_log: EventLog, place: StoragePlace, *, log_id: str, warnings: Sequence[str]
    ) -> None:
        self.log_id = log_id
        self._folder = place.folder
        self._declared = {table.name: table for table in place.tables}
        self._tables: Mapping[str, RowTable] = event_log.tables
        self._warnings = tuple(warnings)
        self._checkpointer = Checkpointer(event_log.conn)
        self._readers = ReaderPool(place.folder / DATABASE)
        self._blobs = BlobFolder(place.folder / BLOBS)
        # Blobs must not go while they are copied, nor the WAL be emptied while it is read.
        self._upkeep = asyncio.Lock()
        self._writer = Writer(event_log, self._checkpointer, place.folder)
        self._closing = asyncio.Lock()
        self._is_closed = False
        self._is_let_go = False

    @property
    def on_committed(self) -> OnCommitted:
        """What receives each committed batch."""
        return self._writer.on_committed

    @on_committed.setter
    def on_committed(self, receive: OnCommitted) -> None:
        self._writer.on_committed = receive

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        """Record events and rows, all or nothing."""
        self._check_open()
        size = check_append(writes, rows, self._declared)
        # Not shielded: a caller who is cancelled cancels this answer alone, and never the append,
        # which the writer has by now; a shield would cost each append one more round of the loop.
        return await self._writer.append(writes, rows, size=size, is_bulk=bulk)

    async def head(self) -> int:
        """Return the largest visible position."""
        return await self._readers.read(Reader.head)

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
        if item_ids is None:
            return await self._readers.read(
                lambda reader: event_reads.read_stream(
                    reader, stream, after=after, limit=limit, session_id=session_id
                )
            )
        if session_id is None:
            raise ValueError("items are asked for without their session")
        return await self._readers.read(
            lambda reader: event_reads.read_items(
                reader, stream, after=after, limit=limit, session_id=session_id, item_ids=item_ids
            )
        )

    async def read_items(
        self, wanted: Mapping[tuple[str, str], Sequence[str]]
    ) -> Sequence[RecordedEvent]:
        """Return events about items of several sessions in position order."""
        return await self._readers.read(
            lambda reader: event_reads.read_items_of_sessions(reader, wanted)
        )

    async def version(self, stream: str) -> int:
        """Return the version that a stream is at."""
        return await self._readers.read(lambda reader: event_reads.version(reader, stream))

    async def read_all(
        self, *, after: int, limit: int, kinds: Sequence[str] | None = None
    ) -> Sequence[RecordedEvent]:
        """Return events of the whole log in position order."""
        return await self._readers.read(
            lambda reader: event_reads.read_all(reader, after=after, limit=limit, kinds=kinds)
        )

    async def list_streams(self, *, after: str = "", limit: int) -> Sequence[StreamHead]:
        """Return streams that hold events, by name."""
        return await self._readers.read(
            lambda reader: event_reads.list_streams(reader, after=after, limit=limit)
        )

    async def get_rows(self, table: str, keys: Sequence[Key]) -> Rows:
        """Return the rows that exist among these keys."""
        return (await self.get_rows_of({table: keys}))[table]

    async def get_rows_of(self, wanted: Mapping[str, Sequence[Key]]) -> Mapping[str, Rows]:
        """Return rows of several tables as of one position."""
        row_tables = [(self._table(name), keys) for name, keys in wanted.items()]
        for row_table, keys in row_tables:
            check_keys(row_table.declared, keys)
        return await self._readers.read(lambda reader: row_reads.get_rows(reader, row_tables))

    async def list_rows(
        self,
        table: str,
        *,
        where: Mapping[str, Scalar] | None = None,
        order: str | None = None,
        after: Row | None = None,
        limit: int | None = None,
    ) -> Rows:
        """Return a page of rows."""
        row_table = self._table(table)
        check_listing(row_table.declared, where=where, order=order, after=after)
        return await self._readers.read(
            lambda reader: row_reads.list_rows(
                reader, row_table, where=where or {}, order=order, after=after, limit=limit
            )
        )

    async def search(
        self, table: str, query: str, *, where: Mapping[str, Scalar] | None = None, limit: int
    ) -> Hits:
        """Find rows whose indexed texts together hold every word of a query."""
        row_table = self._table(table)
        check_search(row_table.declared, where=where)
        return await self._readers.read(
            lambda reader: row_reads.search(
                reader, row_table, query, where=where or {}, limit=limit
            )
        )

    async def put_blob(self, content: bytes) -> BlobId:
        """Store content under the id of its digest, durably."""
        return await self._readers.run(lambda: self._blobs.put(content))

    async def get_blob(self, blob_id: str) -> bytes:
        """Return a blob's content."""
        return await self._readers.run(lambda: self._blobs.get(blob_id))

    async def list_blobs(self, *, after: str = "", limit: int) -> Sequence[str]:
        """Return ids of stored blobs in their order."""
        return await self._readers.run(lambda: self._blobs.ids(after=after, limit=limit))

    async def purge(self, stream: str) -> None:
        """Remove a stream for good, down to the bytes in the files."""
        self._check_open()
        await asyncio.shield(
            self._writer.run(lambda event_log: purge.purge_stream(event_log, stream))
        )
        async with self._upkeep:
            await self._scrub()

    async def reclaim(self, unused_blobs: Sequence[str]) -> Reclaimed:
        """Remove blobs and give free space back."""
        self._check_open()
        async with self._upkeep:
            reclaimed = await self._readers.run(lambda: self._blobs.reclaim(unused_blobs))
            if await self._writer.run(purge.is_scrub_due):
                await self._scrub()
            await self._steps(lambda event_log: purge.cut_free_pages(event_log, self._checkpointer))
        return reclaimed

    async def backup(self, target: Path) -> None:
        """Write a consistent copy while writing goes on."""
        self._check_open()
        async with self._upkeep:
            await self._readers.read(
                lambda reader: write_backup(reader, self.log_id, self._blobs, target)
            )

    async def mark_filled(self, tables: Sequence[str]) -> None:
        """Note that these derived tables hold all their rows again."""
        self._check_open()
        names = [declared(self._declared, name).name for name in tables]
        await asyncio.shield(self._writer.run(lambda event_log: mark_filled(event_log, names)))

    async def describe(self) -> StorageReport:
        """Return facts for `spaced status` and `spaced doctor`."""
        return await self._readers.read(
            lambda reader: report(reader, self._folder, self._blobs, self._warnings)
        )

    async def close(self) -> None:
        """Finish what was begun and let go of every resource."""
        self._is_closed = True
        # Each step may be done twice, so a close that was cancelled can be called again.
        async with self._closing, self._upkeep:
            if not self._is_let_go:
                await self._readers.close()
                await self._writer.close()
                self._is_let_go = True

    async def _scrub(self) -> None:
        await self._readers.run(lambda: remove_snapshots(self._folder / SNAPSHOTS))
        await self._steps(lambda event_log: purge.scrub(event_log, self._checkpointer))

    async def _steps(self, begin: Callable[[EventLog], Iterator[None]]) -> None:
        """Run work in steps on the writer's thread, with waiting appends between them."""
        steps = await self._writer.run(begin)
        while await self._writer.run(lambda _: next(steps, _DONE)) is not _DONE:
            pass

    def _table(self, name: str) -> RowTable:
        return self._tables[declared(self._declared, name).name]

    def _check_open(self) -> None:
        if self._is_closed:
            raise StorageClosed(f"the storage in {self._folder} was closed")
