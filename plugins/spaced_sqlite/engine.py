"""Which SQLite is linked, and whether it has a fault that a person should know of."""

from typing import Final, TypeAlias

from spaced_sqlite.driver import sqlite3

Version: TypeAlias = tuple[int, ...]

_WAL_RESET_FAULT: Final[tuple[tuple[Version, Version], ...]] = (
    ((3, 7, 0), (3, 44, 6)),
    ((3, 45, 0), (3, 50, 7)),
    ((3, 51, 0), (3, 51, 3)),
)
"""From the first version of each pair up to, not including, the second."""


def engine() -> str:
    """Return name and version of what keeps the data."""
    return f"SQLite {sqlite3.sqlite_version}"


def engine_warnings(version: Version = sqlite3.sqlite_version_info) -> list[str]:
    """Return what a person should know about the linked version."""
    if not any(first <= version < fixed for first, fixed in _WAL_RESET_FAULT):
        return []
    found = ".".join(map(str, version))
    sentence = (
        f"SQLite {found} has the WAL-reset fault, which can damage a database that several "
        "connections write to; spaced writes with one only. To be rid of the fault install "
        "pysqlite3-binary, or a Python with SQLite 3.51.3 or newer."
    )
    return [sentence]
