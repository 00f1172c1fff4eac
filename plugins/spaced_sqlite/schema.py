"""Is the file ours, and is its shape the one that this version knows?

A file that is foreign, newer or damaged is refused before anything is written to it. An older one
is copied to `snapshots/` first and then upgraded by migrations, each in a transaction together with
its record; without the snapshot there is no upgrade. Migrations are only ever added. `user_version`
is the number of migrations made; `application_id` says that the file is ours.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlite_utils import Database, Migrations

from spaced.plugin_api import StorageError, StorageRefused
from spaced_sqlite.connections import connect_reader
from spaced_sqlite.driver import sqlite3
from spaced_sqlite.faults import is_damage
from spaced_sqlite.snapshot import copy_database
from spaced_sqlite.statements import QUERIES, load_blocks, split_statements

APPLICATION_ID: Final = 0x53504344
"""The letters SPCD."""

EVENT_LOG_MIGRATIONS: Final = Migrations("spaced")
_BLOCKS: Final = load_blocks("migrations.sql")


@EVENT_LOG_MIGRATIONS()
def m0001_event_log(db: Database) -> None:
    """The log, the names in it, the fences, and what is known about the log as a whole."""
    run_block(db, _BLOCKS["m0001_event_log"])
    db.execute(f"pragma application_id = {APPLICATION_ID}")
    db.execute("pragma user_version = 1")


def run_block(db: Database, block: str) -> None:
    """Run each statement of a block inside the transaction that is open."""
    # Not `executescript`, which commits what the migration has done so far.
    for statement in split_statements(block):
        db.execute(statement)


def check_identity(path: Path, migrations: Migrations) -> None:
    """Refuse a database file that is not ours to open; an empty one is fine.

    Raises:
        StorageRefused: it is foreign, newer, damaged, or has parts that we did not make.
    """
    if path.stat().st_size == 0:
        return
    with damage_refused(path):
        conn = connect_reader(path)
        try:
            _check_header(conn, path, migrations)
            _check_parts(conn, path)
        finally:
            conn.close()


@contextmanager
def damage_refused(path: Path) -> Iterator[None]:
    """Refuse a file that SQLite finds to be no database, or a broken one, inside the block."""
    try:
        yield
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        raise StorageRefused(
            f"{path} is not an SQLite database or is damaged: {error}",
            remedy="Restore a backup into a new data directory, and keep this file for repair.",
        ) from error


def upgrade(conn: sqlite3.Connection, migrations: Migrations, snapshots: Path) -> None:
    """Bring a new or older database to today's shape.

    Raises:
        StorageRefused: no snapshot could be made of an older database.
    """
    # No plugins of sqlite-utils: they could add functions to the connection.
    db = Database(conn, execute_plugins=False, recursive_triggers=False)
    if not migrations.pending(db):
        return
    version = schema_version(conn)
    if version > 0:
        _take_snapshot(conn, snapshots / f"before-upgrade-from-{version}.db", version)
    migrations.apply(db)


def schema_version(conn: sqlite3.Connection) -> int:
    """Return how many migrations made this database."""
    return int(conn.execute("pragma user_version").fetchone()[0])


def _take_snapshot(conn: sqlite3.Connection, target: Path, version: int) -> None:
    try:
        copy_database(conn, target)
    except StorageError as error:
        raise StorageRefused(
            f"the database of schema {version} was not upgraded, since no snapshot of it could be "
            f"made: {error.message}",
            remedy=error.remedy,
        ) from error


def _check_header(conn: sqlite3.Connection, path: Path, migrations: Migrations) -> None:
    found = int(conn.execute("pragma application_id").fetchone()[0])
    has_parts = conn.execute("select 1 from sqlite_schema limit 1").fetchone() is not None
    if not has_parts and found == 0:
        return
    if found != APPLICATION_ID:
        raise StorageRefused(f"{path} is the database of another program")
    version, known = schema_version(conn), _count(migrations)
    if version > known:
        raise StorageRefused(
            f"{path} has schema {version}, and this version of spaced knows only {known}",
            remedy="Install the newer spaced again, or use another data directory.",
        )


def _check_parts(conn: sqlite3.Connection, path: Path) -> None:
    part = conn.execute(QUERIES["foreign_parts"]).fetchone()
    if part is not None:
        raise StorageRefused(
            f"{path} contains the {part[0]} {part[1]!r}, which spaced did not make",
            remedy="Restore a backup; somebody changed this database from outside.",
        )


def _count(migrations: Migrations) -> int:
    empty = Database(memory=True, execute_plugins=False)
    try:
        return len(migrations.pending(empty))
    finally:
        empty.close()
