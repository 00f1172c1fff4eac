"""The SQLite driver: pysqlite3 where it is installed, for its newer SQLite, else Python's own.

`sqlite_utils` makes that choice, and both must use the same one.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
else:
    from sqlite_utils.utils import sqlite3

__all__ = ["sqlite3"]
