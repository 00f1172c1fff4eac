"""An older schema is copied, then upgraded; without the copy it is left as it is."""

from pathlib import Path

import pytest
from sqlite_utils import Database, Migrations

from spaced.plugin_api import StorageRefused
from spaced.testing.samples import read_log, start
from spaced_sqlite.factory import SqliteStorageFactory
from spaced_sqlite.schema import m0001_event_log
from tests.integration.sqlite.places import opened, outside, place_at


def _next_version() -> Migrations:
    """Return the migrations of a spaced that is one schema further."""
    migrations = Migrations("spaced")
    migrations()(m0001_event_log)

    @migrations()
    def m0002_colour(db: Database) -> None:
        db.execute("alter table event add column colour text")
        db.execute("pragma user_version = 2")

    return migrations


def _columns(database: Path) -> set[str]:
    with outside(database) as conn:
        return {row[1] for row in conn.execute("pragma table_info(event)")}


async def _old_log(folder: Path) -> None:
    async with opened(folder) as storage:
        await storage.append([start("run-1", count=3)])


async def test_an_older_schema_is_upgraded_and_keeps_its_events(folder: Path) -> None:
    """People open yesterday's sessions with today's spaced."""
    await _old_log(folder)

    storage = await SqliteStorageFactory(_next_version()).open(place_at(folder))
    events = await read_log(storage)
    await storage.close()

    assert [event.version for event in events] == [1, 2, 3]
    assert "colour" in _columns(folder / "spaced.db")


async def test_a_snapshot_of_the_older_schema_is_kept(folder: Path) -> None:
    """Whoever regrets the upgrade can go back."""
    await _old_log(folder)

    storage = await SqliteStorageFactory(_next_version()).open(place_at(folder))
    await storage.close()

    snapshot = folder / "snapshots" / "before-upgrade-from-1.db"
    assert "colour" not in _columns(snapshot)
    assert snapshot.stat().st_mode & 0o777 == 0o600
    with outside(snapshot) as conn:
        assert conn.execute("select count(*) from event").fetchone() == (3,)
        assert conn.execute("pragma integrity_check").fetchone() == ("ok",)


async def test_without_a_snapshot_there_is_no_upgrade(folder: Path) -> None:
    """Something stands where the snapshot should go: nothing is changed, and it says so."""
    await _old_log(folder)
    (folder / "snapshots" / "before-upgrade-from-1.db.part").mkdir()

    with pytest.raises(StorageRefused, match="no snapshot"):
        await SqliteStorageFactory(_next_version()).open(place_at(folder))

    assert "colour" not in _columns(folder / "spaced.db")
    async with opened(folder) as storage:
        assert len(await read_log(storage)) == 3


async def test_a_failing_migration_leaves_the_older_schema(folder: Path) -> None:
    """A migration and its record are one transaction."""
    await _old_log(folder)
    migrations = _next_version()

    @migrations()
    def m0003_broken(db: Database) -> None:
        db.execute("alter table event add column half text")
        db.execute("pragma user_version = 3")
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        await SqliteStorageFactory(migrations).open(place_at(folder))

    assert "half" not in _columns(folder / "spaced.db")
    storage = await SqliteStorageFactory(_next_version()).open(place_at(folder))
    await storage.close()


async def test_an_upgraded_database_is_refused_by_the_older_version(folder: Path) -> None:
    """There is no way back but the snapshot."""
    await _old_log(folder)
    storage = await SqliteStorageFactory(_next_version()).open(place_at(folder))
    await storage.close()

    with pytest.raises(StorageRefused, match="has schema 2"):
        await SqliteStorageFactory().open(place_at(folder))


async def test_a_new_database_needs_no_snapshot(folder: Path) -> None:
    """There is nothing yet to go back to."""
    storage = await SqliteStorageFactory(_next_version()).open(place_at(folder))
    await storage.close()

    assert list((folder / "snapshots").iterdir()) == []
