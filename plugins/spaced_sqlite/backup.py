"""Copies of a whole storage, and their return into an empty place.

A backup is a folder with `spaced.db`, `blobs/` and, written last, `backup.json`: without that it is
not a backup. The database is copied first, of one moment; blobs are written before the events that
name them, so those that are there afterwards include all that the copy names. A restored log gets
an id of its own, since what happens to it from then on is another story than the original's.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
from sqlite_utils import Migrations

from spaced.plugin_api import StorageRefused
from spaced_sqlite.blobs import BlobFolder
from spaced_sqlite.driver import sqlite3
from spaced_sqlite.faults import faults_at
from spaced_sqlite.layout import BLOBS, DATABASE, MANIFEST
from spaced_sqlite.privacy import FILE_MODE, create_file, make_folder, sync_folder
from spaced_sqlite.readers import Reader
from spaced_sqlite.schema import check_identity, schema_version
from spaced_sqlite.snapshot import copy_database
from spaced_sqlite.statements import QUERIES

_FORMAT: Final = 1


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What `backup.json` says about a backup."""

    format: int
    log_id: str
    schema: int
    position: int


def new_log_id() -> str:
    """Return an id that no other log has."""
    return f"log_{secrets.token_hex(16)}"


def write_backup(reader: Reader, log_id: str, blobs: BlobFolder, target: Path) -> None:
    """Write a backup into a new or empty folder.

    Raises:
        StorageRefused: the folder is not empty.
        StorageFull: there is no space there; what was begun is removed.
    """
    with faults_at(target), _filled_or_empty(target):
        position = copy_database(reader.conn, target / DATABASE)
        _copy_blobs(blobs, target / BLOBS)
        manifest = Manifest(
            format=_FORMAT,
            log_id=log_id,
            schema=schema_version(reader.conn),
            position=position,
        )
        _write_synced(target / MANIFEST, msgspec.json.encode(manifest))
        sync_folder(target)
        sync_folder(target.parent)


def restore_backup(backup: Path, folder: Path, migrations: Migrations) -> None:
    """Put a backup into an empty folder, as a log with a new id.

    Raises:
        StorageRefused: the folder is not empty, or the backup is not one.
    """
    _check_backup(backup, migrations)
    # The database gets its name last: blobs without one are refused by `open`, never taken for new.
    part = folder / f"{DATABASE}.part"
    with faults_at(folder), _filled_or_empty(folder):
        _copy_blobs(BlobFolder(backup / BLOBS), folder / BLOBS)
        _copy_file(backup / DATABASE, part)
        _rename_log(part)
        part.replace(folder / DATABASE)
        sync_folder(folder)


def _check_backup(backup: Path, migrations: Migrations) -> None:
    remedy = "Name the folder that `spaced backup` wrote."
    try:
        manifest = msgspec.json.decode((backup / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError) as error:
        raise StorageRefused(f"{backup} holds no complete backup", remedy=remedy) from error
    if manifest.format != _FORMAT:
        raise StorageRefused(
            f"the backup in {backup} has format {manifest.format}, this version knows {_FORMAT}",
            remedy="Restore it with the spaced that made it.",
        )
    database = backup / DATABASE
    if not database.is_file() or database.stat().st_size == 0:
        raise StorageRefused(f"the backup in {backup} lacks its database", remedy=remedy)
    with faults_at(database):
        check_identity(database, migrations)


@contextmanager
def _filled_or_empty(folder: Path) -> Iterator[None]:
    """Refuse a folder that holds something; empty it again if the block fails."""
    existed = folder.is_dir()
    if folder.exists() and (not existed or any(folder.iterdir())):
        raise StorageRefused(f"{folder} is not empty", remedy="Name a new or an empty folder.")
    make_folder(folder)
    try:
        yield
    except BaseException:
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        if not existed:
            with suppress(OSError):
                folder.rmdir()
        raise


def _copy_blobs(blobs: BlobFolder, target: Path) -> None:
    make_folder(target)
    shards: set[Path] = set()
    for path in blobs.paths():
        shard = target / path.parent.name
        if shard not in shards:
            make_folder(shard)
            shards.add(shard)
        _copy_file(path, shard / path.name)
    for folder in (*shards, target):
        sync_folder(folder)


def _copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as reading, os.fdopen(create_file(target), "wb") as writing:
        shutil.copyfileobj(reading, writing, 1024 * 1024)
        writing.flush()
        os.fsync(writing.fileno())


def _write_synced(path: Path, content: bytes) -> None:
    with os.fdopen(create_file(path), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _rename_log(database: Path) -> None:
    conn = sqlite3.connect(database, isolation_level=None)
    try:
        conn.execute("pragma trusted_schema = off")
        conn.execute("pragma synchronous = full")
        conn.execute(QUERIES["remember"], {"key": "log_id", "value": new_log_id()})
    finally:
        conn.close()
    database.chmod(FILE_MODE)
