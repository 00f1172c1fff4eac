"""What the tests of the SQLite storage share: places, and a writer that is kept busy."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from spaced.plugin_api import StoragePlace, Table
from spaced.testing.fake_clock import FakeClock
from spaced.testing.tables import SAMPLE_TABLES
from spaced_sqlite.append import EventLog
from spaced_sqlite.factory import SqliteStorageFactory
from spaced_sqlite.storage import SqliteStorage

WAIT_SECONDS = 30.0


def place_at(folder: Path, tables: Sequence[Table] = SAMPLE_TABLES) -> StoragePlace:
    """Return a place whose clock stands still."""
    return StoragePlace(folder=folder, tables=tables, clock=FakeClock())


async def open_at(folder: Path, tables: Sequence[Table] = SAMPLE_TABLES) -> SqliteStorage:
    """Open a storage that somebody else closes."""
    storage = await SqliteStorageFactory().open(place_at(folder, tables))
    assert isinstance(storage, SqliteStorage)
    return storage


@asynccontextmanager
async def opened(
    folder: Path, tables: Sequence[Table] = SAMPLE_TABLES
) -> AsyncIterator[SqliteStorage]:
    """Open a storage for the length of a block."""
    storage = await open_at(folder, tables)
    try:
        yield storage
    finally:
        await storage.close()


@asynccontextmanager
async def held_writer(storage: SqliteStorage) -> AsyncIterator[None]:
    """Keep the writer busy during the block, so that what is queued in it waits together."""
    is_held, may_go_on = Event(), Event()

    def hold(_: EventLog) -> None:
        is_held.set()
        assert may_go_on.wait(WAIT_SECONDS)

    answer = storage._writer.run(hold)
    try:
        assert await asyncio.to_thread(is_held.wait, WAIT_SECONDS)
        yield
    finally:
        may_go_on.set()
    await answer


async def let_callers_queue() -> None:
    """Return once every task that was just made has run up to its first wait."""
    turn = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turn.set_result, None)
    await turn


async def on_writer(storage: SqliteStorage, work: Callable[[EventLog], Any]) -> Any:
    """Run something on the writer's thread."""
    return await storage._writer.run(work)


@contextmanager
def outside(database: Path) -> Iterator[sqlite3.Connection]:
    """Open the database as any other program would."""
    conn = sqlite3.connect(database, isolation_level=None)
    try:
        yield conn
    finally:
        conn.close()


def all_bytes(folder: Path) -> bytes:
    """Return the content of every file below a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
