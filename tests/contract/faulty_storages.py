"""Storages that append wrongly: one fault each, made from the one in memory.

`tests.contract.faulty_answers` has those that read, purge or tell wrongly.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from spaced.clock import Clock
from spaced.errors import SpacedError, StorageClosed
from spaced.log.record import RecordedEvent, StreamWrite
from spaced.log.table import RowWrite, Table
from spaced.storage.memory import MemoryStorage, MemoryStorageFactory
from spaced.storage.memory_disk import MemoryDisk
from spaced.storage.protocol import Appended, StoragePlace
from spaced.testing.samples import next_turn
from spaced.testing.storage_harness import MemoryStorageHarness, StorageHarness

T = TypeVar("T")


class FaultyFactory(MemoryStorageFactory):
    """Opens a faulty storage on each disk."""

    def __init__(self, faulty: type[MemoryStorage]) -> None:
        super().__init__()
        self._faulty = faulty

    async def open(self, place: StoragePlace) -> MemoryStorage:
        disk = self.disks.setdefault(place.folder, MemoryDisk())
        return self._faulty(disk, tables=place.tables, clock=place.clock)


def harness_of(faulty: type[MemoryStorage], scratch: Path) -> StorageHarness:
    """Return a harness that opens nothing but faulty storages."""
    return MemoryStorageHarness(scratch, FaultyFactory(faulty))


def rewind(disk: MemoryDisk, to: MemoryDisk) -> None:
    """Make a disk what another one is, in place."""
    fresh = to.copy()
    for name in MemoryDisk.__struct_fields__:
        setattr(disk, name, getattr(fresh, name))


def run_now(work: Coroutine[object, object, T]) -> T:
    """Return what a coroutine that waits for nothing returns."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("the storage in memory waited for something")


class LosesEveryHundredthAppend(MemoryStorage):
    """Answers, and forgets what it answered."""

    _appends = 0

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        before = self._disk.copy()
        appended = await super().append(writes, rows, bulk=bulk)
        self._appends += 1
        if self._appends % 100 == 0:
            rewind(self._disk, before)
        return appended


class ReordersTheEventsOfAnAppend(MemoryStorage):
    """Writes the last event of each stream first."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        turned = [
            StreamWrite(
                stream=write.stream,
                expected_version=write.expected_version,
                events=[*write.events[-1:], *write.events[:-1]],
            )
            for write in writes
        ]
        return await super().append(turned, rows, bulk=bulk)


class AnswersBeforeItIsDurable(MemoryStorage):
    """Brings to the disk a little later what it has already answered."""

    def __init__(self, disk: MemoryDisk, *, tables: Sequence[Table], clock: Clock) -> None:
        super().__init__(disk.copy(), tables=tables, clock=clock)
        rewind(disk, self._disk)
        self._real_disk = disk

    def _is_early(self, writes: Sequence[StreamWrite], *, bulk: bool) -> bool:
        return True

    def _flush(self) -> None:
        if self._disk_or_closed is not None:
            rewind(self._real_disk, self._disk_or_closed)

    def _flush_soon(self) -> None:
        asyncio.get_running_loop().call_soon(self._flush)

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        appended = await super().append(writes, rows, bulk=bulk)
        if self._is_early(writes, bulk=bulk):
            self._flush_soon()
        else:
            self._flush()
        return appended

    async def close(self) -> None:
        self._flush()
        await super().close()


class AnswersBulkBeforeItIsDurable(AnswersBeforeItIsDurable):
    """Saves the sync where the work is bulk anyway."""

    def _is_early(self, writes: Sequence[StreamWrite], *, bulk: bool) -> bool:
        return bulk


class AnswersRowsBeforeTheyAreDurable(AnswersBeforeItIsDurable):
    """Saves the sync where there is no event."""

    def _is_early(self, writes: Sequence[StreamWrite], *, bulk: bool) -> bool:
        return not writes


class PurgesBeforeItIsDurable(AnswersBeforeItIsDurable):
    """Saves the sync of a purge."""

    def _is_early(self, writes: Sequence[StreamWrite], *, bulk: bool) -> bool:
        return False

    async def purge(self, stream: str) -> None:
        await super().purge(stream)
        self._flush_soon()


class ShowsAPositionBeforeASmallerOne(MemoryStorage):
    """Commits two appends at once and shows the later one first."""

    def __init__(self, disk: MemoryDisk, *, tables: Sequence[Table], clock: Clock) -> None:
        super().__init__(disk, tables=tables, clock=clock)
        self._hidden: set[int] = set()

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        appended = await super().append(writes, rows, bulk=bulk)
        positions = {event.position for event in appended.events}
        if appended.position % 2:
            self._hidden |= positions
            for _ in range(3):
                await next_turn()
            self._hidden -= positions
        return appended

    async def read_all(
        self, *, after: int, limit: int, kinds: Sequence[str] | None = None
    ) -> Sequence[RecordedEvent]:
        events = await super().read_all(after=after, limit=limit, kinds=kinds)
        return [event for event in events if event.position not in self._hidden]


class IsNotAtomicOverStreams(MemoryStorage):
    """Writes one stream after the other."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        events: list[RecordedEvent] = []
        for write in writes:
            events.extend((await super().append([write], bulk=bulk)).events)
        appended = await super().append([], rows, bulk=bulk)
        return Appended(events=events, position=appended.position)


class WritesRowsFirst(MemoryStorage):
    """Keeps the rows of an append that is refused."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        await super().append([], rows, bulk=bulk)
        return await super().append(writes, [], bulk=bulk)


class TornByOtherAppends(MemoryStorage):
    """Lets others write between the events of a bulk append."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        if not bulk or len(writes) != 1:
            return await super().append(writes, rows, bulk=bulk)
        (write,), events = writes, list[RecordedEvent]()
        for number, event in enumerate(write.events):
            version = write.expected_version + number
            part = StreamWrite(stream=write.stream, expected_version=version, events=[event])
            events.extend((await super().append([part])).events)
            await next_turn()
        appended = await super().append([], rows)
        return Appended(events=events, position=appended.position)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An append that waits for its group."""

    writes: Sequence[StreamWrite]
    rows: Sequence[RowWrite]
    answer: asyncio.Future[Appended]


class SharesConflicts(MemoryStorage):
    """Commits in groups, and refuses a whole group for one conflict."""

    def __init__(self, disk: MemoryDisk, *, tables: Sequence[Table], clock: Clock) -> None:
        super().__init__(disk, tables=tables, clock=clock)
        self._waiting: list[Job] = []

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        loop = asyncio.get_running_loop()
        job = Job(writes=writes, rows=rows, answer=loop.create_future())
        self._waiting.append(job)
        if len(self._waiting) == 1:
            loop.call_soon(self._commit)
        return await job.answer

    def _commit(self) -> None:
        jobs, self._waiting = self._waiting, []
        before = self._disk.copy()
        try:
            answers = [run_now(super(SharesConflicts, self).append(j.writes, j.rows)) for j in jobs]
        except (SpacedError, ValueError) as error:
            rewind(self._disk, before)
            answers = []
            for job in jobs:
                job.answer.set_exception(error)
        for job, answer in zip(jobs, answers, strict=False):
            if not job.answer.done():
                job.answer.set_result(answer)


class LosesTheGroupOfACancelledCaller(SharesConflicts):
    """Lets the first that waits commit for all, and forgets the others if it gives up."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        job = Job(writes=writes, rows=rows, answer=asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        if len(self._waiting) > 1:
            return await job.answer
        try:
            await next_turn()
        except asyncio.CancelledError:
            others, self._waiting = self._waiting[1:], []
            for other in (job for job in others if not job.answer.done()):
                other.answer.set_exception(StorageClosed("whoever commits has given up"))
            raise
        self._commit()
        return await job.answer


class HalvesACancelledAppend(MemoryStorage):
    """Writes rows after events, and not if the caller has given up in between."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        appended = await super().append(writes, rows[:0], bulk=bulk)
        await next_turn()
        await super().append([], rows, bulk=bulk)
        return appended


class LosesACancelledAppend(MemoryStorage):
    """Takes back what it has announced if the caller has given up."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        before = self._disk.copy()
        appended = await super().append(writes, rows, bulk=bulk)
        try:
            await next_turn()
        except asyncio.CancelledError:
            rewind(self._disk, before)
            raise
        return appended


class DoublesACancelledAppend(MemoryStorage):
    """Writes again what it has written if the caller has given up."""

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        appended = await super().append(writes, rows, bulk=bulk)
        try:
            await next_turn()
        except asyncio.CancelledError:
            again = [
                StreamWrite(
                    stream=write.stream,
                    expected_version=write.expected_version + len(write.events),
                    events=write.events,
                )
                for write in writes
            ]
            await super().append(again, rows)
            raise
        return appended
