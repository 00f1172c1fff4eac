"""A verified, synced copy of a database while others write to it.

The copy is of one moment: the source is read inside one transaction, so writers go on and the
backup never has to start over. The copy is a plain file without a WAL beside it.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from spaced.plugin_api import StorageError
from spaced_sqlite.driver import sqlite3
from spaced_sqlite.faults import faults_at
from spaced_sqlite.privacy import create_file, make_folder, sync_folder
from spaced_sqlite.statements import QUERIES

_PAGES_PER_STEP: Final = 1024


def copy_database(source: sqlite3.Connection, target: Path) -> int:
    """Copy a database to a new file and return the position of the copied log.

    A file of an earlier attempt is replaced. What was begun is removed on failure.

    Raises:
        StorageFull: there is no space at the target.
        StorageError: the copy could not be made or is not equal.
    """
    part = target.with_name(f"{target.name}.part")
    with faults_at(target):
        make_folder(target.parent)
        part.unlink(missing_ok=True)
        try:
            head = _copy(source, part)
            part.replace(target)
        except BaseException:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)
    return head


def remove_snapshots(folder: Path) -> None:
    """Remove all copies in a folder: they hold what was purged from their source since."""
    for path in folder.glob("*"):
        path.unlink(missing_ok=True)
    sync_folder(folder)


def _copy(source: sqlite3.Connection, part: Path) -> int:
    descriptor = create_file(part)
    copy = sqlite3.connect(part, isolation_level=None)
    try:
        source.execute("begin")
        before = _facts(source)
        # What a power cut interrupts is no copy, so this is synced for another reason: one sync of
        # a whole large file would hold up every commit of the source for as long as it takes.
        copy.execute("pragma synchronous = off")
        source.backup(copy, pages=_PAGES_PER_STEP, progress=lambda *_: os.fsync(descriptor))
        copy.execute("pragma journal_mode = delete").fetchall()
        if _facts(copy) != before:
            raise StorageError(f"the copy in {part} is not equal to its source")
        os.fsync(descriptor)
    finally:
        copy.close()
        os.close(descriptor)
        if source.in_transaction:
            source.execute("rollback")
    return before[0]


def _facts(conn: sqlite3.Connection) -> tuple[int, int, int, int]:
    head = int(conn.execute(QUERIES["head"]).fetchone()[0])
    names = ("page_count", "application_id", "user_version")
    pages, application, version = (
        int(conn.execute(f"pragma {name}").fetchone()[0]) for name in names
    )
    return head, pages, application, version
