"""What SQLite and the operating system report, in the words of the storage protocol.

Every error that leaves the plugin is one sentence of what and where, with a remedy. A full disk is
told apart from every other fault, because it heals by itself once somebody makes space.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from spaced.plugin_api import SpacedError, StorageError, StorageFull
from spaced_sqlite.driver import sqlite3

# Numbers and not `sqlite3.SQLITE_FULL`: pysqlite3 has the codes on its errors but not the names.
_BUSY: Final = 5
_IO_ERROR: Final = 10
_CORRUPT: Final = 11
_FULL: Final = 13
_NOT_A_DATABASE: Final = 26

_CODES: Final = {
    "database is locked": _BUSY,
    "disk I/O error": _IO_ERROR,
    "database disk image is malformed": _CORRUPT,
    "database or disk is full": _FULL,
    "file is not a database": _NOT_A_DATABASE,
}

_PROBE_BYTES: Final = 64 * 1024
_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_DISK_REMEDY: Final = "Check the disk and its permissions, then restart spaced."
_DAMAGE_REMEDY: Final = "Stop spaced and restore a backup into a new data directory."
_BUSY_REMEDY: Final = "Close the other program that has the database open, then try again."


@contextmanager
def faults_at(place: Path) -> Iterator[None]:
    """Raise what SQLite and the system report inside the block as typed errors about a place."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise storage_fault(error, place) from error


def storage_fault(error: Exception, place: Path) -> Exception:
    """Return the typed error for a fault; what is no fault of the storage comes back as it is."""
    match error:
        case SpacedError():
            return error
        case OSError():
            return _system_fault(error, place)
        case sqlite3.Error():
            return _sqlite_fault(error, place)
        case _:
            return error


def is_busy(error: Exception) -> bool:
    """Tell whether another program held the database for too long."""
    return isinstance(error, sqlite3.Error) and code_of(error) & 0xFF == _BUSY


def is_damage(error: sqlite3.Error) -> bool:
    """Tell whether SQLite says that a file is no database or a broken one."""
    return code_of(error) & 0xFF in (_CORRUPT, _NOT_A_DATABASE)


def code_of(error: sqlite3.Error) -> int:
    """Return SQLite's extended result code, 0 where it cannot be told."""
    code = getattr(error, "sqlite_errorcode", None)
    # pysqlite3 gives some errors no code; SQLite's own sentences never change.
    return _CODES.get(str(error), 0) if code is None else int(code)


def _system_fault(error: OSError, place: Path) -> StorageError:
    if error.errno in _NO_SPACE:
        return StorageFull(f"there is no space left in {place}")
    reason = error.strerror or str(error)
    return StorageError(f"{place} could not be used: {reason}", remedy=_DISK_REMEDY)


def _sqlite_fault(error: sqlite3.Error, place: Path) -> StorageError:
    primary = code_of(error) & 0xFF
    if primary == _FULL or (primary == _IO_ERROR and _is_full(place)):
        return StorageFull(f"there is no space left in {place}")
    sentence = f"the database in {place} could not be used: {error}"
    if is_damage(error):
        return StorageError(sentence, remedy=_DAMAGE_REMEDY)
    if is_busy(error):
        return StorageError(sentence, remedy=_BUSY_REMEDY)
    if primary == _IO_ERROR:
        return StorageError(sentence, remedy=_DISK_REMEDY)
    return StorageError(sentence)


def _is_full(place: Path) -> bool:
    """Try to write: SQLite calls a used-up quota, and a WAL index without room, an I/O error."""
    folder = place if place.is_dir() else place.parent
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(_PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno in _NO_SPACE
    return False
