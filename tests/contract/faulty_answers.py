"""Storages that announce, read, purge or keep wrongly: one fault each.

`tests.contract.faulty_blobs` has those that keep blobs wrongly.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import msgspec

from spaced.clock import Clock
from spaced.errors import UnusableQuery
from spaced.log.record import NewEvent, RecordedEvent, StreamWrite
from spaced.log.table import InsertRow, Key, PutRow, Row, RowWrite, Scalar, Table
from spaced.storage.memory import MemoryStorage
from spaced.storage.memory_disk import MemoryDisk
from spaced.storage.protocol import Appended, Hits, Rows
from spaced.testing.samples import next_turn
from tests.contract.faulty_storages import rewind


class AnnouncesBeforeTheCommit(MemoryStorage):
    """Tells of events that are not on the disk yet."""

    def __init__(self, disk: MemoryDisk, *, tables: Sequence[Table], clock: Clock) -> None:
        super().__init__(disk, tables=tables, clock=clock)
        self._before = disk.copy()

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        self._before = self._disk.copy()
        return await super().append(writes, rows, bulk=bulk)

    def _announce(self, events: Sequence[RecordedEvent]) -> None:
        after = self._disk.copy()
        rewind(self._disk, self._before)
        super()._announce(events)
        rewind(self._disk, after)


class AnnouncesTwice(MemoryStorage):
    """Tells everything two times."""

    def _announce(self, events: Sequence[RecordedEvent]) -> None:
        super()._announce(events)
        super()._announce(events)


class SwallowsAnAnnouncement(MemoryStorage):
    """Does not tell of every seventh position."""

    def _announce(self, events: Sequence[RecordedEvent]) -> None:
        if told := [event for event in events if event.position % 7]:
            super()._announce(told)


class AnnouncesAfterTheAnswer(MemoryStorage):
    """Tells when the writer has already gone on."""

    def _announce(self, events: Sequence[RecordedEvent]) -> None:
        asyncio.get_running_loop().call_soon(super()._announce, events)


class AnnouncesOutOfOrder(MemoryStorage):
    """Tells the last event of a batch first."""

    def _announce(self, events: Sequence[RecordedEvent]) -> None:
        super()._announce(events[::-1])


class AnnouncesInAThread(MemoryStorage):
    """Tells from where it works."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        work = super().append(writes, rows, bulk=bulk)
        return await asyncio.to_thread(asyncio.run, work)


class FeelsItsListeners(MemoryStorage):
    """Lets an append fail with its listener."""

    def _announce(self, events: Sequence[RecordedEvent]) -> None:
        self.on_committed(events)


class HidesTheErrorsOfListeners(MemoryStorage):
    """Says nothing of a listener that fails."""

    def _announce(self, events: Sequence[RecordedEvent]) -> None:
        with suppress(Exception):
            self.on_committed(events)


class ForgetsTheFence(MemoryStorage):
    """Purges, and lets the stream come back."""

    async def purge(self, stream: str) -> None:
        await super().purge(stream)
        self._disk.fenced.discard(stream)


class FencesNoRows(MemoryStorage):
    """Looks for the fence only where events are written."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        fenced = self._disk.fenced
        self._disk.fenced = fenced & {write.stream for write in writes}
        try:
            return await super().append(writes, rows, bulk=bulk)
        finally:
            self._disk.fenced = fenced


class ForgetsTheFenceInTheNextLife(MemoryStorage):
    """Keeps its fences in the process only."""

    def __init__(self, disk: MemoryDisk, *, tables: Sequence[Table], clock: Clock) -> None:
        disk.fenced.clear()
        super().__init__(disk, tables=tables, clock=clock)


class ReusesPositions(MemoryStorage):
    """Counts on from the newest event that is left."""

    def __init__(self, disk: MemoryDisk, *, tables: Sequence[Table], clock: Clock) -> None:
        disk.position = disk.events[-1].position if disk.events else 0
        super().__init__(disk, tables=tables, clock=clock)


class LetsTheHeadFall(MemoryStorage):
    """Takes the newest event that is left for the head."""

    async def head(self) -> int:
        return max((event.position for event in self._disk.events), default=0)


class LeavesRowsOfAPurgedStream(MemoryStorage):
    """Purges events only."""

    async def purge(self, stream: str) -> None:
        entries = self._disk.copy().entries
        await super().purge(stream)
        self._disk.entries = entries


class PutClearsTheText(MemoryStorage):
    """Takes no text for an empty one."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        cleared = [replace(r, text=r.text or {}) if isinstance(r, PutRow) else r for r in rows]
        return await super().append(writes, cleared, bulk=bulk)


class InsertOverwrites(MemoryStorage):
    """Takes an insert for a put."""

    def _check_inserts(self, rows: Sequence[RowWrite]) -> None:
        pass


class InsertsOneKeyTwice(MemoryStorage):
    """Looks for a key only in what was there before the append."""

    def _check_inserts(self, rows: Sequence[RowWrite]) -> None:
        for row in rows:
            if isinstance(row, InsertRow):
                super()._check_inserts([row])


class IgnoresAfterInAStream(MemoryStorage):
    """Reads a stream from its beginning."""

    async def read_stream(
        self,
        stream: str,
        *,
        after: int = 0,
        limit: int | None = None,
        session_id: str | None = None,
        item_ids: Sequence[str] | None = None,
    ) -> Sequence[RecordedEvent]:
        return await super().read_stream(
            stream, limit=limit, session_id=session_id, item_ids=item_ids
        )


class IgnoresAfterInTheLog(MemoryStorage):
    """Reads the log from its beginning."""

    async def read_all(
        self, *, after: int, limit: int, kinds: Sequence[str] | None = None
    ) -> Sequence[RecordedEvent]:
        return await super().read_all(after=0, limit=limit, kinds=kinds)


class LimitsBeforeItFilters(MemoryStorage):
    """Counts events of other kinds too."""

    async def read_all(
        self, *, after: int, limit: int, kinds: Sequence[str] | None = None
    ) -> Sequence[RecordedEvent]:
        events = await super().read_all(after=after, limit=limit)
        return [event for event in events if kinds is None or event.kind in kinds]


class BeginsAPageWithTheLastRow(MemoryStorage):
    """Lists from a row on, not from behind it."""

    async def list_rows(
        self,
        table: str,
        *,
        where: Mapping[str, Scalar] | None = None,
        order: str | None = None,
        after: Row | None = None,
        limit: int | None = None,
    ) -> Rows:
        rows = await super().list_rows(table, where=where, order=order, after=after, limit=limit)
        again = [after] if after else []
        return replace(rows, rows=[*again, *rows.rows][:limit])


class ListsWithoutCase(MemoryStorage):
    """Orders text as a person would."""

    async def list_rows(
        self,
        table: str,
        *,
        where: Mapping[str, Scalar] | None = None,
        order: str | None = None,
        after: Row | None = None,
        limit: int | None = None,
    ) -> Rows:
        rows = await super().list_rows(table, where=where, order=order, after=after, limit=limit)
        if order != "by_title":
            return rows
        return replace(rows, rows=sorted(rows.rows, key=lambda row: str(row["title"]).casefold()))


class NeverMatchesNull(MemoryStorage):
    """Compares as SQL does."""

    async def list_rows(
        self,
        table: str,
        *,
        where: Mapping[str, Scalar] | None = None,
        order: str | None = None,
        after: Row | None = None,
        limit: int | None = None,
    ) -> Rows:
        rows = await super().list_rows(table, where=where, order=order, after=after, limit=limit)
        return replace(rows, rows=[]) if None in (where or {}).values() else rows


class FetchesRowsInItsOwnOrder(MemoryStorage):
    """Sorts the keys that it is asked for."""

    async def get_rows(self, table: str, keys: Sequence[Key]) -> Rows:
        return await super().get_rows(table, sorted(keys))


class GivesEachRowOnce(MemoryStorage):
    """Answers a key that is given twice as if it were given once."""

    async def get_rows(self, table: str, keys: Sequence[Key]) -> Rows:
        return await super().get_rows(table, list(dict.fromkeys(keys)))


class ReadsTablesAtTwoMoments(MemoryStorage):
    """Lets others write between two tables of one read."""

    async def get_rows_of(self, wanted: Mapping[str, Sequence[Key]]) -> Mapping[str, Rows]:
        found = {}
        for table, keys in wanted.items():
            found[table] = await self.get_rows(table, keys)
            await next_turn()
        return found


class FindsAnyWord(MemoryStorage):
    """Finds rows that hold one of the words."""

    async def search(
        self, table: str, query: str, *, where: Mapping[str, Scalar] | None = None, limit: int
    ) -> Hits:
        keys: list[Key] = []
        for word in query.split():
            keys += (await super().search(table, word, where=where, limit=limit)).keys
        return Hits(keys=list(dict.fromkeys(keys))[:limit], as_of_position=self._disk.position)


class FindsNothingWithoutWords(MemoryStorage):
    """Answers a query without words."""

    async def search(
        self, table: str, query: str, *, where: Mapping[str, Scalar] | None = None, limit: int
    ) -> Hits:
        try:
            return await super().search(table, query, where=where, limit=limit)
        except UnusableQuery:
            return Hits(keys=[], as_of_position=self._disk.position)


class WritesBodiesAnew(MemoryStorage):
    """Keeps the meaning of a body and not its bytes."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        anew = [replace(write, events=[_parsed(e) for e in write.events]) for write in writes]
        return await super().append(anew, rows, bulk=bulk)


def _parsed(event: NewEvent) -> NewEvent:
    body = json.dumps(json.loads(event.body)).encode()
    return msgspec.structs.replace(event, body=body)


class WritesABackupOverWhatIsThere(MemoryStorage):
    """Empties the folder that it is given."""

    async def backup(self, target: Path) -> None:
        rmtree(target, ignore_errors=True)
        await super().backup(target)


class TakesABulkAppendForARebuild(MemoryStorage):
    """Guesses when a table is whole again."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        if bulk:
            self._disk.unfilled -= {write.table for write in rows}
        return await super().append(writes, rows, bulk=bulk)


class NeverMarksATable(MemoryStorage):
    """Lists a table as unfilled for ever."""

    async def mark_filled(self, tables: Sequence[str]) -> None:
        """Do nothing."""


class AnswersAfterItsClose(MemoryStorage):
    """Never says that it was closed."""

    async def close(self) -> None:
        """Do nothing."""


class SharesItsRows(MemoryStorage):
    """Hands out the rows that it keeps."""

    async def get_rows(self, table: str, keys: Sequence[Key]) -> Rows:
        entries = self._disk.entries[table]
        rows = [entries[key].row for key in keys if key in entries]
        return Rows(rows=rows, as_of_position=self._disk.position)
