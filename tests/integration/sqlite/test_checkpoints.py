"""The WAL stays small, and nobody but the writer empties it."""

from pathlib import Path

from spaced.testing.samples import event, write
from spaced_sqlite.connections import connect_reader
from spaced_sqlite.storage import SqliteStorage
from tests.integration.sqlite.places import on_writer, opened

MEGABYTE = 1024 * 1024
PIECE = event(b'{"x":"%s"}' % (b"x" * 200_000))


async def _append_pieces(storage: SqliteStorage, count: int) -> None:
    for version in range(count):
        await storage.append([write("run-1", version, PIECE)])


def _wal(folder: Path) -> int:
    return (folder / "spaced.db-wal").stat().st_size


async def test_the_wal_is_bounded_while_writing(storage: SqliteStorage, folder: Path) -> None:
    """Forty megabytes pass through it, and it never holds more than a part of them."""
    largest = 0
    for version in range(200):
        await storage.append([write("run-1", version, PIECE)])
        largest = max(largest, _wal(folder))
    assert largest < 12 * MEGABYTE


async def test_many_small_appends_bound_the_wal_too(storage: SqliteStorage, folder: Path) -> None:
    """A page is written for each small change, and pages are what counts."""
    for version in range(2_000):
        await storage.append([write("run-1", version, event())])
    assert _wal(folder) < 12 * MEGABYTE


async def test_a_reader_in_the_way_costs_only_space(storage: SqliteStorage, folder: Path) -> None:
    """Appends go on while somebody reads an old state; once that ends the WAL is used again."""
    reader = connect_reader(folder / "spaced.db")
    reader.execute("begin")
    reader.execute("select count(*) from event").fetchone()
    await _append_pieces(storage, 60)
    grown = _wal(folder)
    reader.close()
    for version in range(60, 180):
        await storage.append([write("run-1", version, PIECE)])

    assert grown > 10 * MEGABYTE
    assert _wal(folder) < grown + 12 * MEGABYTE


async def test_closing_leaves_no_wal(folder: Path) -> None:
    """Whoever copies the file of a closed storage has all of it."""
    async with opened(folder) as storage:
        await _append_pieces(storage, 3)
    assert not (folder / "spaced.db-wal").exists()
    assert not (folder / "spaced.db-shm").exists()


async def test_readers_make_no_checkpoints(storage: SqliteStorage, folder: Path) -> None:
    """Of two connections that do, one can damage the file with older versions of SQLite."""
    settings = await storage._readers.read(
        lambda reader: (
            reader.conn.execute("pragma wal_autocheckpoint").fetchone()[0],
            reader.conn.execute("pragma query_only").fetchone()[0],
        )
    )
    assert settings == (0, 1)


async def test_the_writer_syncs_and_checkpoints_by_itself(storage: SqliteStorage) -> None:
    """The settings that durability rests on are those of the connection that writes."""
    settings = await on_writer(
        storage,
        lambda log: {
            name: log.conn.execute(f"pragma {name}").fetchone()[0]
            for name in (
                "journal_mode",
                "synchronous",
                "fullfsync",
                "wal_autocheckpoint",
                "trusted_schema",
                "auto_vacuum",
            )
        },
    )
    assert settings == {
        "journal_mode": "wal",
        "synchronous": 2,
        "fullfsync": 1,
        "wal_autocheckpoint": 0,
        "trusted_schema": 0,
        "auto_vacuum": 2,
    }
