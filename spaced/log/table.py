"""Tables of rows beside the log, and the writes that change them.

A row is written in the same append as the events it derives from. It may hold anything that is
known before the append (stream, version, the event's own fields and times), never what only the
storage decides (position, time of recording): so the same events always give the same rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Scalar: TypeAlias = str | int | None
Row: TypeAlias = Mapping[str, Scalar]
KeyPart: TypeAlias = str | int
Key: TypeAlias = tuple[KeyPart, ...]

STREAM_COLUMN = "stream"
"""A table with a column of this name loses its rows when that stream is purged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column; structured values are stored as JSON text that only the core reads.

    Attributes:
        required: whether null is refused. Key and index columns are always required, since
            databases disagree on where null sorts.
    """

    name: str
    type: Literal["text", "integer"] = "text"
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexColumn:
    """A column of an index and the direction in which it sorts; text sorts by code points."""

    name: str
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """An order in which rows can be listed; rows that tie follow their keys, ascending."""

    name: str
    columns: tuple[IndexColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What the core tells a storage about a table.

    Attributes:
        name: lower-case words joined by underscores.
        key: the columns whose values identify a row.
        columns: all stored columns, the key's among them.
        indexes: the orders in which rows are listed.
        text_columns: texts that are indexed for `search` and not stored.
        role: `derived` rows equal a fold of the log and can be rebuilt from it; `own` rows hold
            what no event tells.

    Raises:
        ValueError: a name is unknown or double, or an ordered column may be null.
    """

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    role: Literal["derived", "own"]
    indexes: tuple[Index, ...] = ()
    text_columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a declaration that a storage could not keep."""
        required = {column.name for column in self.columns if column.required}
        ordered = [column.name for index in self.indexes for column in index.columns]
        names = [column.name for column in self.columns] + list(self.text_columns)
        if len(set(names)) != len(names):
            raise ValueError(f"table {self.name!r} names a column twice: {names}")
        if not self.key or not {*self.key, *ordered} <= required:
            raise ValueError(
                f"table {self.name!r}: key and index columns must exist and be required"
            )
        if self.role == "derived" and STREAM_COLUMN not in required:
            raise ValueError(
                f"derived table {self.name!r} lacks the required column {STREAM_COLUMN!r}"
            )

    @property
    def is_purgeable(self) -> bool:
        """Whether the table's rows belong to streams and go with them."""
        return any(column.name == STREAM_COLUMN for column in self.columns)

    def key_of(self, row: Row) -> Key:
        """Return the key of a row of this table."""
        return tuple(_key_part(row[name]) for name in self.key)

    def index(self, name: str) -> Index:
        """Return a declared index; `KeyError` if there is none of that name."""
        for index in self.indexes:
            if index.name == name:
                return index
        raise KeyError(f"table {self.name!r} has no index {name!r}")


def _key_part(value: Scalar) -> KeyPart:
    if value is None:
        raise ValueError("a key column is null")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class PutRow:
    """Write a row, replacing the one with its key.

    Attributes:
        row: a value for every column of the table.
        text: the texts to index for `search`, by text column. `None` leaves indexed what the
            row's key already had, an empty mapping removes it.
    """

    table: str
    row: Row
    text: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertRow:
    """Write a row whose key must be new; this is how something is unique over all streams."""

    table: str
    row: Row
    text: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRow:
    """Remove a row and what was indexed for it; no row of that key is no error."""

    table: str
    key: Key


RowWrite: TypeAlias = PutRow | InsertRow | DeleteRow
