"""What the storage in memory keeps: all that would survive its process, and how that is copied."""

from pathlib import Path
from typing import Final
from uuid import uuid4

import msgspec
from msgspec import field, msgpack

from spaced import errors
from spaced.log.record import RecordedEvent
from spaced.log.table import Key, Scalar, Table

_BACKUP_NAME: Final = "memory.msgpack"


class Entry(msgspec.Struct, kw_only=True):
    """A row, the words indexed for it, and when they were indexed, as a count."""

    row: dict[str, Scalar]
    words: frozenset[str] = frozenset()
    indexed: int = 0


class MemoryDisk(msgspec.Struct, kw_only=True):
    """What would survive the process."""

    log_id: str = field(default_factory=lambda: f"log_{uuid4().hex}")
    position: int = 0
    indexings: int = 0
    events: list[RecordedEvent] = field(default_factory=list)
    streams: dict[str, list[RecordedEvent]] = field(default_factory=dict)
    fenced: set[str] = field(default_factory=set)
    declared: dict[str, Table] = field(default_factory=dict)
    unfilled: set[str] = field(default_factory=set)
    entries: dict[str, dict[Key, Entry]] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)

    def copy(self) -> "MemoryDisk":
        """Return this disk as it is now; what happens to either does not reach the other."""
        return msgpack.decode(msgpack.encode(self), type=MemoryDisk)


def write_backup(disk: bytes, target: Path) -> None:
    """Write the bytes of a disk into a new or empty folder.

    Raises:
        StorageRefused: the folder is not empty.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise errors.StorageRefused(f"{str(target)!r} is not an empty folder")
    target.mkdir(parents=True, exist_ok=True)
    (target / _BACKUP_NAME).write_bytes(disk)


def read_backup(backup: Path) -> MemoryDisk:
    """Read the disk that a backup holds.

    Raises:
        StorageRefused: it is no backup.
    """
    try:
        return msgpack.decode((backup / _BACKUP_NAME).read_bytes(), type=MemoryDisk)
    except (OSError, msgspec.MsgspecError) as error:
        raise errors.StorageRefused(f"{str(backup)!r} is no backup of this storage") from error
