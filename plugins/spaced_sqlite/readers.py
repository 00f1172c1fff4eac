"""A few threads with a read-only connection each.

A read is one call on one of these threads and ends there: no transaction is ever held while the
event loop does something else, so none can keep the WAL from being emptied.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread, local
from typing import Any, Final, TypeAlias, TypeVar

from spaced.plugin_api import StorageClosed
from spaced_sqlite.connections import connect_reader
from spaced_sqlite.driver import sqlite3
from spaced_sqlite.faults import faults_at
from spaced_sqlite.statements import QUERIES

T = TypeVar("T")

_THREADS: Final = 4
_REMEMBERED_NAMES: Final = 20_000


class NamesById(dict[int, str]):
    """Names behind numbers, looked up once; they never change, so they may be remembered."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        super().__init__()
        self._conn = conn

    def __missing__(self, number: int) -> str:
        """Look a number up."""
        (name,) = self._conn.execute(QUERIES["name_of"], {"id": number}).fetchone()
        if len(self) >= _REMEMBERED_NAMES:
            self.clear()
        self[number] = name
        return str(name)


@dataclass(frozen=True, slots=True)
class _Failure:
    """What a piece of work raised."""

    error: BaseException


_Job: TypeAlias = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class Reader:
    """A read-only connection and what its thread remembers."""

    def __init__(self, path: Path) -> None:
        self.conn = connect_reader(path)
        self.names = NamesById(self.conn)

    @contextmanager
    def snapshot(self) -> Iterator[int]:
        """Let everything in the block be read as of one position, which is yielded."""
        self.conn.execute("begin")
        try:
            yield self.head()
        finally:
            self.conn.execute("rollback")

    def head(self) -> int:
        """Return the largest visible position."""
        return int(self.conn.execute(QUERIES["head"]).fetchone()[0])

    def number_of(self, name: str) -> int | None:
        """Return a name's number, if it has one."""
        row = self.conn.execute(QUERIES["name_id"], {"name": name}).fetchone()
        return None if row is None else int(row[0])


class ReaderPool:
    """Runs reads, and other blocking work that does not write to the database.

    It is no `ThreadPoolExecutor`: whose futures, chained to those of the event loop, cost more than
    looking a row up does, and every append of the core looks some up first.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._inbox: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._under_way = 0
        self._own = local()
        self._opened: list[Reader] = []
        self._lock = Lock()
        self._is_closed = False

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Run a read on one of the threads."""
        return await self.run(lambda: work(self._reader()))

    async def run(self, work: Callable[[], T]) -> T:
        """Run blocking work that needs no connection.

        Raises:
            StorageClosed: the pool was closed.
        """
        if self._is_closed:
            raise StorageClosed(f"the storage in {self._path.parent} was closed")
        answer: asyncio.Future[T] = self._loop.create_future()
        self._under_way += 1
        if len(self._threads) < min(self._under_way, _THREADS):
            name = f"spaced-sqlite-reader-{len(self._threads)}"
            self._threads.append(Thread(target=self._work, name=name, daemon=True))
            self._threads[-1].start()
        self._inbox.put((work, answer))
        return await answer

    async def close(self) -> None:
        """Wait for the reads that run, then close their connections."""
        self._is_closed = True
        for _ in self._threads:
            self._inbox.put(None)
        await asyncio.to_thread(self._join)
        for reader in self._opened:
            reader.conn.close()
        self._opened.clear()

    def _deliver(self, answer: asyncio.Future[T], outcome: T | _Failure) -> None:
        self._under_way -= 1
        if answer.done():
            return  # whoever asked was cancelled
        if isinstance(outcome, _Failure):
            answer.set_exception(outcome.error)
        else:
            answer.set_result(outcome)

    # Everything below runs on other threads.

    def _work(self) -> None:
        while (job := self._inbox.get()) is not None:
            work, answer = job
            # A cancelled one may be skipped, as long as its place is given back.
            outcome = None if answer.cancelled() else self._outcome(work)
            # Without the loop nobody waits for the answer.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._deliver, answer, outcome)
            del job, work, answer, outcome  # not kept alive until the next one comes

    def _outcome(self, work: Callable[[], T]) -> T | _Failure:
        try:
            with faults_at(self._path.parent):
                return work()
        except BaseException as error:  # noqa: BLE001  # whatever it is, the caller must hear of it
            return _Failure(error)

    def _join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _reader(self) -> Reader:
        reader: Reader | None = getattr(self._own, "reader", None)
        if reader is None:
            reader = self._own.reader = Reader(self._path)
            with self._lock:
                self._opened.append(reader)
        return reader
