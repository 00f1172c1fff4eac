"""A full disk refuses writes, keeps reads, and heals once there is space."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlite_utils import Database, Migrations

from spaced.plugin_api import Storage, StorageFull, StorageRefused
from spaced.testing.samples import event, read_log, write
from spaced_sqlite.driver import sqlite3
from spaced_sqlite.factory import SqliteStorageFactory
from spaced_sqlite.faults import storage_fault
from spaced_sqlite.schema import m0001_event_log
from tests.integration.sqlite.places import held_writer, let_callers_queue, opened, place_at

DISK_KILOBYTES = 4096
LARGE = event(b'{"x":"%s"}' % (b"x" * 100_000))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    options = f"size={DISK_KILOBYTES}k"
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", mounted],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount a tmpfs")
    try:
        yield mounted
    finally:
        subprocess.run(["umount", "-l", mounted], check=True)


def _fill(disk: Path, *, leave_kilobytes: int = 0) -> Path:
    """Take what is left of the disk."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            size = file.tell()
        file.truncate(max(0, size - leave_kilobytes * 1024))
    return ballast


async def _append_until_refused(storage: Storage) -> tuple[int, StorageFull]:
    """Return the version that was reached, and the refusal."""
    version = 1
    while True:
        try:
            await storage.append([write("run-1", version, LARGE)])
        except StorageFull as refusal:
            return version, refusal
        version += 1


async def test_a_full_disk_refuses_appends_and_heals(disk: Path) -> None:
    """Nothing of a refused append is there, reading goes on, and so does writing after all."""
    async with opened(disk / "storage") as storage:
        await storage.append([write("run-1", 0, event())])
        ballast = _fill(disk)
        version, refusal = await _append_until_refused(storage)
        assert "space" in refusal.message
        assert refusal.remedy

        assert len(await read_log(storage)) == version
        with pytest.raises(StorageFull):
            await storage.append([write("run-1", version, LARGE)])
        assert len(await storage.read_stream("run-1")) == version

        ballast.unlink()
        await storage.append([write("run-1", version, LARGE)])
        assert await storage.head() == version + 1
    async with opened(disk / "storage") as storage:
        assert [event.version for event in await read_log(storage)] == list(range(1, version + 2))


async def test_a_small_append_fits_where_a_large_one_does_not(disk: Path) -> None:
    """One that needs more than there is does not take those with it that need less."""
    async with opened(disk / "storage") as storage:
        await storage.append([write("run-1", 0, event())])
        _fill(disk, leave_kilobytes=400)
        huge = event(b'{"x":"%s"}' % (b"x" * 1_000_000))
        async with held_writer(storage):
            appends = [
                asyncio.ensure_future(storage.append([write(f"run-{n}", 0, body)]))
                for n, body in ((2, event()), (3, huge), (4, event()))
            ]
            await let_callers_queue()
        outcomes = await asyncio.gather(*appends, return_exceptions=True)

        assert isinstance(outcomes[1], StorageFull)
        assert [event.stream for event in await read_log(storage)] == ["run-1", "run-2", "run-4"]


async def test_a_storage_on_a_full_disk_can_be_closed(disk: Path) -> None:
    """The last checkpoint finds no room; the connection is let go, and nothing is lost."""
    async with opened(disk / "storage") as storage:
        for version in range(9):
            await storage.append([write("run-1", version, LARGE)])
        ballast = _fill(disk)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        storage._writer._log.conn.execute("select 1")
    ballast.unlink()
    async with opened(disk / "storage") as storage:
        assert len(await read_log(storage)) == 9


async def test_a_blob_that_does_not_fit_leaves_nothing(disk: Path) -> None:
    """Its begun file would take the space that is missing."""
    async with opened(disk / "storage") as storage:
        kept = await storage.put_blob(b"small")
        with pytest.raises(StorageFull):
            await storage.put_blob(bytes(DISK_KILOBYTES * 1024))
        files = [path for path in (disk / "storage" / "blobs").rglob("*") if path.is_file()]
        assert len(files) == 1
        assert await storage.get_blob(kept) == b"small"
        assert await storage.put_blob(bytes(1024 * 1024))


async def test_a_backup_that_does_not_fit_leaves_nothing(folder: Path, disk: Path) -> None:
    """What was begun is removed, and the next one can go to the same folder."""
    async with opened(folder) as storage:
        for version in range(60):
            await storage.append([write("run-1", version, LARGE)])
        with pytest.raises(StorageFull):
            await storage.backup(disk / "backup")
        assert not (disk / "backup").exists()
        await storage.append([write("run-1", 60, event())])


async def test_an_upgrade_without_space_for_the_snapshot_is_refused(disk: Path) -> None:
    """The data stay as they were, for the version that wrote them."""
    migrations = Migrations("spaced")
    migrations()(m0001_event_log)

    @migrations()
    def m0002_next(db: Database) -> None:
        db.execute("pragma user_version = 2")

    async with opened(disk / "storage") as storage:
        for version in range(12):
            await storage.append([write("run-1", version, LARGE)])
    _fill(disk, leave_kilobytes=400)
    with pytest.raises(StorageRefused, match="no snapshot"):
        await SqliteStorageFactory(migrations).open(place_at(disk / "storage"))
    async with opened(disk / "storage") as storage:
        assert len(await read_log(storage)) == 12


def test_an_input_error_on_a_full_disk_is_told_as_a_full_disk(disk: Path) -> None:
    """SQLite calls a used-up quota an I/O error; whether there is space can be tried."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = 778
    assert not isinstance(storage_fault(error, disk), StorageFull)
    _fill(disk)
    assert isinstance(storage_fault(error, disk), StorageFull)
