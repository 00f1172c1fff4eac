"""When the writer moves the WAL's content into the database file.

After about 1 MB if nothing waits, after about 8 MB whatever waits: so the WAL stays small and no
append pays for it while there is a quiet moment. A passive checkpoint waits for no reader; what a
reader holds back is moved the next time.
"""

import logging
from typing import Final

from spaced_sqlite.driver import sqlite3

log = logging.getLogger(__name__)

QUIET_BYTES: Final = 1024 * 1024
MOST_BYTES: Final = 8 * 1024 * 1024
_PAGE: Final = 4096
_PAGES_PER_COMMIT: Final = 5
_PAGES_PER_ROW: Final = 3


class Checkpointer:
    """Counts roughly what was written, in pages that a commit, a row and its bytes dirty."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self._written = 0

    def note_commit(self, *, size: int, rows: int) -> None:
        """Count what a commit wrote."""
        pages = _PAGES_PER_COMMIT + rows * _PAGES_PER_ROW
        self._written += pages * _PAGE + 2 * size

    def note_pages(self, pages: int) -> None:
        """Count pages that other work changed."""
        self._written += pages * _PAGE

    def after_work(self, *, is_idle: bool) -> None:
        """Make a checkpoint if one is due; a failed one is logged and tried again later."""
        if self._written < (QUIET_BYTES if is_idle else MOST_BYTES):
            return
        try:
            self._conn.execute("pragma wal_checkpoint(passive)").fetchall()
        except sqlite3.Error as error:
            log.warning(
                "checkpoint failed: %s", error, extra={"event": "storage-checkpoint-failed"}
            )
        self._written = 0

    def empty_wal(self) -> bool:
        """Move everything and cut the WAL to nothing; return whether no reader was in the way."""
        busy, _, _ = self._conn.execute("pragma wal_checkpoint(truncate)").fetchone()
        self._written = 0
        return not busy

    def finish(self) -> None:
        """Leave a database file that needs no WAL."""
        self.empty_wal()
