"""The one thread that writes, and how appends share its commits.

What waits when the thread is free shares one transaction and so one sync: group commit. Each append
of a group has its own savepoint, and a conflict undoes only that. If a group fails for any other
reason, each of its appends is tried alone, so that each gets its own outcome. Slow work (bulk
appends, purging, clean-up) runs one piece at a time while no append waits; so that it never waits
for ever, it also gets a turn after `_PATIENCE` groups.

Outcomes reach the event loop after the commit, in position order, one call per commit. Checkpoints
are made here as well, after the answers are on their way; there is no timer, an idle storage does
nothing.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Final, Generic, TypeVar

from spaced.plugin_api import (
    Appended,
    ConflictingWrite,
    OnCommitted,
    RecordedEvent,
    RowWrite,
    StorageClosed,
    StorageError,
    StreamPurged,
    StreamWrite,
)
from spaced_sqlite.append import EventLog
from spaced_sqlite.checkpoint import Checkpointer
from spaced_sqlite.driver import sqlite3
from spaced_sqlite.faults import is_busy, storage_fault

log = logging.getLogger(__name__)

T = TypeVar("T")

MOST_APPENDS_IN_GROUP: Final = 256
MOST_BYTES_IN_GROUP: Final = 8 * 1024 * 1024
_PATIENCE: Final = 32
_CLOSE_SECONDS: Final = 120.0


@dataclass(slots=True, eq=False, kw_only=True)
class AppendJob:
    """An append on its way, and what became of it."""

    writes: Sequence[StreamWrite]
    rows: Sequence[RowWrite]
    size: int
    is_bulk: bool
    answer: asyncio.Future[Appended]
    outcome: Appended | Exception | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Task(Generic[T]):
    """Other work for the writing connection; it begins and ends its own transactions."""

    work: Callable[[EventLog], T]
    answer: asyncio.Future[T]


class Writer:
    """Takes work on the event loop and does it on its own thread."""

    def __init__(self, event_log: EventLog, checkpointer: Checkpointer, place: Path) -> None:
        self.on_committed: OnCommitted = _ignore
        self._log = event_log
        self._checkpointer = checkpointer
        self._place = place
        self._loop = asyncio.get_running_loop()
        self._inbox: SimpleQueue[AppendJob | Task[Any] | None] = SimpleQueue()
        self._appends: deque[AppendJob] = deque()
        self._slow: deque[AppendJob | Task[Any]] = deque()
        self._is_closing = False
        # So that nothing is put into the inbox after the thread looked into it for the last time.
        self._gate = Lock()
        self._has_ended = False
        self._groups_in_a_row = 0
        self._ended = self._loop.create_future()
        self._thread = Thread(target=self._run, name="spaced-sqlite-writer", daemon=True)
        self._thread.start()

    def append(
        self,
        writes: Sequence[StreamWrite],
        rows: Sequence[RowWrite],
        *,
        size: int,
        is_bulk: bool,
    ) -> asyncio.Future[Appended]:
        """Queue an append; the future is done once it is on the disk."""
        answer: asyncio.Future[Appended] = self._loop.create_future()
        self._put(AppendJob(writes=writes, rows=rows, size=size, is_bulk=is_bulk, answer=answer))
        return answer

    def run(self, work: Callable[[EventLog], T]) -> asyncio.Future[T]:
        """Queue other work, to be done while no append waits."""
        answer: asyncio.Future[T] = self._loop.create_future()
        self._put(Task(work=work, answer=answer))
        return answer

    async def close(self) -> None:
        """Finish what is queued and close the connection.

        Raises:
            StorageError: the thread did not end in time.
        """
        self._inbox.put(None)
        done, _ = await asyncio.wait({self._ended}, timeout=_CLOSE_SECONDS)
        if not done:
            raise StorageError(f"the writer of {self._place} did not finish its work in time")
        self._thread.join(_CLOSE_SECONDS)

    def _put(self, job: AppendJob | Task[Any]) -> None:
        with self._gate:
            if self._has_ended:
                raise StorageClosed(f"the storage in {self._place} takes no more writes")
            self._inbox.put(job)

    # Everything below runs on the writer's thread.

    def _run(self) -> None:
        try:
            while self._collect():
                self._work()
                self._checkpointer.after_work(is_idle=self._inbox.empty() and not self._appends)
        finally:
            self._end()

    def _collect(self) -> bool:
        """Sort what came in; wait if there is nothing to do; return whether to go on."""
        if not self._appends and not self._slow:
            if self._is_closing:
                return False
            self._sort(self._inbox.get())
        self._collect_waiting()
        return True

    def _collect_waiting(self) -> None:
        try:
            while True:
                self._sort(self._inbox.get_nowait())
        except Empty:
            return

    def _sort(self, job: AppendJob | Task[Any] | None) -> None:
        if job is None:
            self._is_closing = True
        elif isinstance(job, AppendJob) and not job.is_bulk:
            self._appends.append(job)
        else:
            self._slow.append(job)

    def _work(self) -> None:
        is_slow_due = self._slow and (not self._appends or self._groups_in_a_row >= _PATIENCE)
        if is_slow_due:
            self._groups_in_a_row = 0
            job = self._slow.popleft()
            if isinstance(job, AppendJob):
                self._commit([job])
            else:
                self._do(job)
        elif self._appends:
            self._groups_in_a_row += 1
            self._commit(self._next_group())

    def _next_group(self) -> list[AppendJob]:
        group, size = [self._appends.popleft()], 0
        while self._appends and len(group) < MOST_APPENDS_IN_GROUP:
            size += self._appends[0].size
            if size + group[0].size > MOST_BYTES_IN_GROUP:
                break
            group.append(self._appends.popleft())
        return group

    def _commit(self, group: list[AppendJob]) -> None:
        try:
            with self._log.transaction():
                for job in group:
                    job.outcome = self._append(job, is_alone=len(group) == 1)
        except Exception as error:  # noqa: BLE001  # whatever it is, the callers must hear of it
            # Behind another process's lock each of them would wait as long again.
            if len(group) > 1 and not is_busy(error):
                for job in group:
                    self._commit([job])
                return
            for job in group:
                job.outcome = storage_fault(error, self._place)
        else:
            self._checkpointer.note_commit(
                size=sum(job.size for job in group), rows=sum(len(job.rows) for job in group)
            )
        self._answer(group)

    def _append(self, job: AppendJob, *, is_alone: bool) -> Appended | Exception:
        if is_alone:
            return self._log.append(job.writes, job.rows)
        try:
            with self._log.part():
                return self._log.append(job.writes, job.rows)
        except (ConflictingWrite, StreamPurged) as refusal:
            return refusal

    def _answer(self, group: list[AppendJob]) -> None:
        events = [
            event
            for job in group
            if isinstance(job.outcome, Appended)
            for event in job.outcome.events
        ]
        self._on_loop(self._deliver, events, group)

    def _do(self, task: Task[Any]) -> None:
        try:
            outcome = task.work(self._log)
        except Exception as error:  # noqa: BLE001  # whatever it is, the caller must hear of it
            self._on_loop(_fail, task.answer, storage_fault(error, self._place))
        else:
            self._on_loop(_resolve, task.answer, outcome)

    def _end(self) -> None:
        """Refuse what is still there, if the thread died, and let go of the database."""
        with self._gate:
            self._has_ended = True
        refusal = StorageClosed(f"the storage in {self._place} was closed")
        self._collect_waiting()
        for job in (*self._appends, *self._slow):
            self._on_loop(_fail, job.answer, refusal)
        try:
            self._checkpointer.finish()
        except sqlite3.Error as error:
            # The next start moves what stays in the WAL.
            log.warning(
                "last checkpoint failed: %s", error, extra={"event": "storage-checkpoint-failed"}
            )
        finally:
            self._log.conn.close()
        self._on_loop(_resolve, self._ended, None)

    def _on_loop(self, call: Callable[..., object], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            # The loop was closed, so nobody waits; what was committed is on the disk all the same.
            log.debug("answer without a loop", extra={"event": "storage-answer-unheard"})

    # Everything below runs on the event loop.

    def _deliver(self, events: Sequence[RecordedEvent], group: list[AppendJob]) -> None:
        if events:
            try:
                self.on_committed(events)
            except Exception:
                log.exception("on_committed failed", extra={"event": "on-committed-failed"})
        for job in group:
            if isinstance(job.outcome, Appended):
                _resolve(job.answer, job.outcome)
            else:
                assert job.outcome is not None
                _fail(job.answer, job.outcome)


def _ignore(events: Sequence[RecordedEvent]) -> None:
    """Take the place of `on_committed` until the core has set its own."""


def _resolve(answer: asyncio.Future[T], outcome: T) -> None:
    if not answer.done():
        answer.set_result(outcome)


def _fail(answer: asyncio.Future[T], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
