"""What a read model is: a table of derived rows and the rule that keeps it equal to the log.

A new table is one module in this package: declare the `Table`, write a class with `keys` and
`apply`, and name it in `spaced.log.read_models.catalogue`. Appending, `spaced doctor` and its
rebuild then use it; nothing else has to know.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from spaced.domain.json_values import JsonObject
from spaced.errors import KeyTaken
from spaced.log.fact import Fact
from spaced.log.table import DeleteRow, InsertRow, Key, PutRow, Row, RowWrite, Table


class RowsInHand:
    """The rows that a fold may look at, and the writes that it makes on top of them."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = tables
        self._rows: dict[tuple[str, Key], Row | None] = {}
        self._writes: dict[tuple[str, Key], RowWrite] = {}
        self._items: dict[tuple[str, str], JsonObject] = {}

    def hold(self, table: str, key: Key, row: Row | None) -> None:
        """Take a row as the storage has it, or the knowledge that there is none."""
        self._rows[table, key] = row

    def holds(self, table: str, key: Key) -> bool:
        """Tell whether the row, or its absence, is known."""
        return (table, key) in self._rows

    def get(self, table: str, key: Key) -> Row | None:
        """Return a row as the writes so far leave it.

        Raises:
            KeyError: nobody asked the storage for it; the read model's `keys` forgot it.
        """
        return self._rows[table, key]

    def put(self, table: str, row: Row, text: Mapping[str, str] | None = None) -> None:
        """Write a row; `text` as in `PutRow`."""
        key = self._tables[table].key_of(row)
        before = self._writes.get((table, key))
        if text is None and isinstance(before, (PutRow, InsertRow)):
            text = before.text
        # A row that this append inserts stays an insert, so that its uniqueness is still checked.
        is_new = isinstance(before, InsertRow)
        self._rows[table, key] = row
        self._writes[table, key] = (InsertRow if is_new else PutRow)(
            table=table, row=row, text=text
        )

    def insert(self, table: str, row: Row, text: Mapping[str, str] | None = None) -> None:
        """Write a row whose key must be new in the storage.

        Raises:
            KeyTaken: it is known already that the key is not new.
        """
        key = self._tables[table].key_of(row)
        if self._rows.get((table, key)) is not None:
            raise KeyTaken(table, key)
        self._rows[table, key] = row
        self._writes[table, key] = InsertRow(table=table, row=row, text=text)

    def delete(self, table: str, key: Key) -> None:
        """Remove a row."""
        self._rows[table, key] = None
        self._writes[table, key] = DeleteRow(table=table, key=key)

    def hold_item(self, session_id: str, item_id: str, item: JsonObject) -> None:
        """Take an item as the fact at hand leaves it; it is what search indexes."""
        self._items[session_id, item_id] = item

    def item(self, session_id: str, item_id: str) -> JsonObject:
        """Return an item as the fact at hand leaves it."""
        return self._items[session_id, item_id]

    def writes(self) -> list[RowWrite]:
        """Return the writes, one for each changed row."""
        return list(self._writes.values())


class ReadModel(Protocol):
    """Keeps the rows of one table equal to a fold of the log."""

    table: Table

    def keys(self, fact: Fact) -> Iterable[tuple[str, Key]]:
        """Return the rows that `apply` looks at for this fact, as table and key.

        They follow from the fact alone: so a command's reads are key lookups, and cost the same
        at any length of the stream.
        """
        ...

    def apply(self, fact: Fact, rows: RowsInHand) -> None:
        """Write the rows that the fact changes.

        Raises:
            CorruptStream: the fact contradicts the rows.
        """
        ...
