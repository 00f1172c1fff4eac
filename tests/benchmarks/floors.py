"""The floors: the least that any program would have to do for the same result, in a few lines."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import msgspec


class CommitFloor:
    """One SQLite commit (WAL, FULL) of some bytes, on the calling thread."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._conn = sqlite3.connect(folder / "floor.db", isolation_level=None)
        self._conn.execute("pragma journal_mode = wal")
        self._conn.execute("pragma synchronous = full")
        self._conn.execute("create table if not exists kept (id integer primary key, bytes blob)")

    async def commit(self, content: bytes) -> None:
        """Write the bytes and return once they are on the disk."""
        self._conn.execute("begin immediate")
        self._conn.execute("insert into kept (bytes) values (?)", (content,))
        self._conn.execute("commit")

    def close(self) -> None:
        """Let go of the file."""
        self._conn.close()


class ReadFloor:
    """The same rows that the product reads, by the same indexes, without the product."""

    def __init__(self, database: Path) -> None:
        self._conn = sqlite3.connect(f"file:{database}?mode=ro", uri=True, isolation_level=None)

    def number_of(self, name: str) -> int:
        """Return the number under which the log knows a name."""
        (number,) = self._conn.execute("select id from name where name = ?", (name,)).fetchone()
        return int(number)

    async def transcript(self, session: int) -> bytes:
        """Select, decode and encode the events of a session."""
        rows = self._conn.execute(
            "select version, body from event where session = ? and stream = ? order by version",
            (session, session),
        ).fetchall()
        return msgspec.json.encode([msgspec.json.decode(body) for _, body in rows])

    async def search(self, expression: str, limit: int) -> Sequence[int]:
        """Ask the full-text index alone."""
        return self._conn.execute(
            'select rowid from "search:item" where "search:item" match ?'
            " order by rowid desc limit ?",
            (expression, limit),
        ).fetchall()

    def close(self) -> None:
        """Let go of the file."""
        self._conn.close()
