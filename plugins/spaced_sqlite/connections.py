"""How the plugin talks to its database file: one connection that writes, others that only read.

The writing connection also makes every checkpoint, and the reading ones never do: SQLite versions
with the WAL-reset fault are only safe if one connection does both. A commit is on the disk when it
returns (`synchronous=full`, on macOS also `fullfsync`).
"""

from pathlib import Path
from typing import Final
from urllib.parse import quote

from spaced_sqlite.driver import sqlite3

BUSY_SECONDS: Final = 5.0
_KEPT_STATEMENTS: Final = 512
_DEFENSIVE: Final = 1010  # SQLITE_DBCONFIG_DEFENSIVE

_WRITER_PRAGMAS: Final = (
    # First, since it takes effect only while the file is still empty.
    "auto_vacuum = incremental",
    "journal_mode = wal",
    "synchronous = full",
    "fullfsync = on",
    "checkpoint_fullfsync = on",
    "wal_autocheckpoint = 0",
    # Overwrites what is deleted inside pages, which costs no input or output; see `purge.py`.
    "secure_delete = fast",
    "cache_size = -16384",
)
_READER_PRAGMAS: Final = ("query_only = on", "wal_autocheckpoint = 0", "cache_size = -4096")


def connect_writer(path: Path) -> sqlite3.Connection:
    """Open the connection that writes; transactions are begun and ended by name only."""
    conn = _connect(path.absolute().as_uri() + "?mode=rw")
    return _prepared(conn, _WRITER_PRAGMAS)


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open a connection that cannot write."""
    conn = _connect(f"file:{quote(str(path.absolute()))}?mode=ro")
    return _prepared(conn, _READER_PRAGMAS)


def _connect(uri: str) -> sqlite3.Connection:
    conn = sqlite3.connect(
        uri,
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        # Connections are closed by the thread that closes the storage.
        check_same_thread=False,
        cached_statements=_KEPT_STATEMENTS,
    )
    conn.execute("pragma trusted_schema = off")
    # Python has the call from 3.12 on; it keeps SQL from writing to the schema itself.
    if configure := getattr(conn, "setconfig", None):
        configure(_DEFENSIVE, True)
    return conn


def _prepared(conn: sqlite3.Connection, pragmas: tuple[str, ...]) -> sqlite3.Connection:
    try:
        for pragma in pragmas:
            conn.execute(f"pragma {pragma}").fetchall()
    except sqlite3.Error:
        conn.close()
        raise
    return conn
