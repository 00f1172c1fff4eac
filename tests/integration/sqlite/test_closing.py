"""A close finishes what was begun, and nothing hangs on a thread that died."""

import asyncio
import logging
from pathlib import Path

import pytest

from spaced.plugin_api import StorageClosed
from spaced.testing.samples import event, read_log, start, write
from spaced_sqlite.storage import SqliteStorage
from tests.integration.sqlite.places import (
    held_writer,
    let_callers_queue,
    on_writer,
    open_at,
    opened,
)


async def test_what_was_queued_is_written_before_the_end(folder: Path) -> None:
    """Plain and bulk appends that were taken are answered, whatever comes after them."""
    storage = await open_at(folder)
    async with held_writer(storage):
        appends = [
            asyncio.ensure_future(storage.append([start(f"run-{n}")], bulk=n % 2 == 0))
            for n in range(20)
        ]
        await let_callers_queue()
        closing = asyncio.ensure_future(storage.close())
        await let_callers_queue()
    await asyncio.gather(closing, *appends)

    async with opened(folder) as storage:
        assert len(await read_log(storage)) == 20


async def test_a_cancelled_close_can_be_called_again(folder: Path) -> None:
    """It goes on where the first one was."""
    storage = await open_at(folder)
    async with held_writer(storage):
        closing = asyncio.ensure_future(storage.close())
        await let_callers_queue()
        closing.cancel()
        await let_callers_queue()
    await storage.close()
    await storage.close()
    assert not (folder / "spaced.db-wal").exists()


async def test_two_closes_at_once_are_one(folder: Path) -> None:
    """Whoever comes second waits for the first."""
    storage = await open_at(folder)
    await asyncio.gather(storage.close(), storage.close())


async def test_a_writer_that_died_fails_its_callers(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They hear of it instead of waiting for ever, and the storage can still be closed."""
    storage = await open_at(folder)
    monkeypatch.setattr("threading.excepthook", lambda _: None)
    monkeypatch.setattr(storage._checkpointer, "after_work", _die)
    async with held_writer(storage):
        appends = [asyncio.ensure_future(storage.append([start("run-1")])) for _ in range(3)]
        await let_callers_queue()
    outcomes = await asyncio.gather(*appends, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {StorageClosed}

    with pytest.raises(StorageClosed):
        await storage.append([start("run-2")])
    await storage.close()


def _die(*, is_idle: bool) -> None:
    raise SystemExit


async def test_a_fault_of_a_follower_is_logged_and_not_felt(
    storage: SqliteStorage, caplog: pytest.LogCaptureFixture
) -> None:
    """The append that it was told of has happened."""

    def fail(_: object) -> None:
        raise RuntimeError("a broken follower")

    storage.on_committed = fail
    with caplog.at_level(logging.ERROR):
        await storage.append([start("run-1")])
        await storage.append([write("run-1", 1, event())])
    assert [record.__dict__["event"] for record in caplog.records] == ["on-committed-failed"] * 2


def test_a_loop_that_ended_first_does_not_kill_the_writer(folder: Path) -> None:
    """Nobody can hear the answer, but the append is on the disk."""

    async def leave() -> SqliteStorage:
        storage = await open_at(folder)
        await storage.append([start("run-1")])
        storage._writer.append([start("run-2")], (), size=1, is_bulk=False)
        return storage

    storage = asyncio.run(leave())
    storage._writer._inbox.put(None)
    storage._writer._thread.join(30)
    assert not storage._writer._thread.is_alive()
    for reader in storage._readers._opened:
        reader.conn.close()

    async def look() -> list[str]:
        async with opened(folder) as storage:
            return [event.stream for event in await read_log(storage)]

    assert asyncio.run(look()) == ["run-1", "run-2"]


async def test_reads_after_the_close_are_refused(folder: Path) -> None:
    """Every kind of call says the same."""
    storage = await open_at(folder)
    await storage.close()
    for call in (
        storage.head(),
        storage.read_stream("run-1"),
        storage.describe(),
        storage.put_blob(b""),
        storage.purge("run-1"),
        storage.reclaim([]),
        storage.backup(folder / "backup"),
    ):
        with pytest.raises(StorageClosed):
            await call


async def test_the_writers_connection_is_let_go(folder: Path) -> None:
    """A closed storage can be opened again at once, many times."""
    for number in range(5):
        async with opened(folder) as storage:
            await storage.append([start(f"run-{number}")])
            assert await on_writer(storage, lambda log: log.conn.in_transaction) is False
