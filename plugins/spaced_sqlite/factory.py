"""Opening a storage: the folder first, then the file's identity, its schema, its tables.

Everything here takes the same time for a log of any length, except an upgrade of the schema.
"""

import asyncio
import os
from pathlib import Path
from typing import Final

from sqlite_utils import Migrations

from spaced.plugin_api import Storage, StoragePlace, StorageRefused
from spaced_sqlite.append import EventLog
from spaced_sqlite.backup import new_log_id, restore_backup
from spaced_sqlite.connections import connect_writer
from spaced_sqlite.declarations import declare_tables
from spaced_sqlite.driver import sqlite3
from spaced_sqlite.faults import faults_at
from spaced_sqlite.layout import BLOBS, DATABASE, SHARED_MEMORY, SNAPSHOTS, WAL
from spaced_sqlite.privacy import (
    FILE_MODE,
    FOLDER_MODE,
    create_file,
    make_folder,
    sync_folder,
    tighten,
)
from spaced_sqlite.row_tables import RowTable
from spaced_sqlite.schema import EVENT_LOG_MIGRATIONS, check_identity, damage_refused, upgrade
from spaced_sqlite.statements import QUERIES
from spaced_sqlite.storage import SqliteStorage

_FOLDERS: Final = (BLOBS, SNAPSHOTS)
_FILES: Final = (DATABASE, WAL, SHARED_MEMORY)


class SqliteStorageFactory:
    """Opens and restores SQLite storages; takes no options."""

    def __init__(self, migrations: Migrations = EVENT_LOG_MIGRATIONS) -> None:
        self._migrations = migrations

    async def open(self, place: StoragePlace) -> Storage:
        """Open the storage, creating it in an empty folder."""
        event_log, warnings = await asyncio.to_thread(self._open, place)
        log_id = event_log.conn.execute(QUERIES["recall"], {"key": "log_id"}).fetchone()[0]
        return SqliteStorage(event_log, place, log_id=log_id, warnings=warnings)

    async def restore(self, backup: Path, place: StoragePlace) -> None:
        """Put a backup into an empty place, as a log of its own with a new id."""
        await asyncio.to_thread(restore_backup, backup, place.folder, self._migrations)

    def _open(self, place: StoragePlace) -> tuple[EventLog, list[str]]:
        path = place.folder / DATABASE
        with faults_at(place.folder), damage_refused(path):
            warnings = _prepare_folder(place.folder)
            check_identity(path, self._migrations)
            conn = connect_writer(path)
            try:
                upgrade(conn, self._migrations, place.folder / SNAPSHOTS)
                _name_log(conn)
                tables = {table.name: RowTable(table) for table in place.tables}
                retired = declare_tables(conn, tables)
            except BaseException:
                conn.close()
                raise
            for name in _FOLDERS:
                make_folder(place.folder / name)
        return EventLog(conn, tables, place.clock, retired=retired), warnings


def _prepare_folder(folder: Path) -> list[str]:
    """Make the folder and the file, or take away what others may do with those that exist."""
    warnings = [tighten(folder, FOLDER_MODE)]
    make_folder(folder)
    warnings += [tighten(folder / name, FOLDER_MODE) for name in _FOLDERS]
    warnings += [tighten(folder / name, FILE_MODE) for name in _FILES]
    path = folder / DATABASE
    # These are made only after the database is complete.
    remains = [name for name in (*_FOLDERS, WAL) if (folder / name).exists()]
    if remains and (not path.exists() or path.stat().st_size == 0):
        raise StorageRefused(
            f"{folder} holds {', '.join(remains)} but its database {DATABASE} is missing or empty",
            remedy="Restore a backup into a new data directory.",
        )
    if not path.exists():
        os.close(create_file(path))
        sync_folder(folder)
    return [warning for warning in warnings if warning is not None]


def _name_log(conn: sqlite3.Connection) -> None:
    if conn.execute(QUERIES["recall"], {"key": "log_id"}).fetchone() is None:
        conn.execute(QUERIES["remember"], {"key": "log_id", "value": new_log_id()})
