"""A declared table in SQLite: its DDL and the SQL that reads and writes its rows.

Table `item` becomes the STRICT table `row_item`. Its rows have a number of their own, `_id`, under
which their words are indexed (`search_index.py`); the key is a unique index. Each declared index
ends with the key columns that it lacks, so that listing follows the index and never sorts. Text
compares by code points, which is how SQLite compares UTF-8 anyway.
"""

from collections.abc import Container, Mapping
from functools import lru_cache

from sqlite_utils import Database
from sqlite_utils.db import DescIndex

from spaced.plugin_api import STREAM_COLUMN, IndexColumn, Row, Scalar, Table

ROW_ID = "_id"
"""Explicit, since SQLite may renumber rows that have no such column."""


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


class RowTable:
    """One declared table and its SQL, built once."""

    def __init__(self, declared: Table) -> None:
        self.declared = declared
        self.name = f"row_{declared.name}"
        self.columns = tuple(column.name for column in declared.columns)
        self.has_words = bool(declared.text_columns)
        # Names of the core have no colon, so these and FTS5's own tables collide with nothing.
        self.words_table = f"words:{declared.name}"
        self.index_table = f"search:{declared.name}"
        self.insert_sql = self._insert_sql()
        self.delete_sql = f"delete from {quoted(self.name)} where {self._key_match()}"  # noqa: S608
        self.id_sql = f"select {ROW_ID} from {quoted(self.name)} where {self._key_match()}"  # noqa: S608
        self.get_sql = self._select(self._key_match())
        self.ids_of_stream_sql = (
            f"select {ROW_ID} from {quoted(self.name)} where {STREAM_COLUMN} = ?"  # noqa: S608
        )
        self.delete_stream_sql = f"delete from {quoted(self.name)} where {STREAM_COLUMN} = ?"  # noqa: S608
        self._list_sql = lru_cache(maxsize=256)(self._build_list_sql)
        self._update_sql = lru_cache(maxsize=64)(self._build_update_sql)

    def values(self, row: Row) -> tuple[Scalar, ...]:
        """Return a row's values in the order of the columns."""
        return tuple([row[name] for name in self.columns])

    def update_sql(self, places: tuple[int, ...]) -> str:
        """Return the SQL that changes the columns at these places; the key's values come last."""
        return self._update_sql(places)

    def list_statement(
        self,
        *,
        where: Mapping[str, Scalar],
        order: str | None,
        after: Row | None,
        limit: int | None,
    ) -> tuple[str, list[Scalar]]:
        """Return the SQL and the parameters for a page of rows."""
        nulls = frozenset(name for name, value in where.items() if value is None)
        sorting = self._sorting(order, where.keys())
        sql = self._list_sql(tuple(where), nulls, sorting, after is not None)
        parameters: list[Scalar] = [value for value in where.values() if value is not None]
        if after is not None:
            parameters += _boundary_values(sorting, after)
        return sql, [*parameters, -1 if limit is None else limit]

    def search_statement(self, where: Mapping[str, Scalar]) -> tuple[str, list[Scalar]]:
        """Return the SQL that finds keys by words, and its parameters between query and limit."""
        nulls = frozenset(name for name, value in where.items() if value is None)
        filters = "".join(f" and {term}" for term in _filter_terms(tuple(where), nulls, "r."))
        keys = ", ".join(f"r.{quoted(name)}" for name in self.declared.key)
        index = quoted(self.index_table)
        # A cross join, so that newer versions of SQLite too go through the words, newest first, and
        # stop at the limit, instead of sorting what a filter leaves.
        sql = (
            f"select {keys} from {index} as i"  # noqa: S608
            f" cross join {quoted(self.name)} as r on r.{ROW_ID} = i.rowid"
            f" where i.{index} match ?{filters} order by i.rowid desc limit ?"
        )
        return sql, [value for value in where.values() if value is not None]

    def _sorting(self, order: str | None, fixed: Container[str]) -> tuple[IndexColumn, ...]:
        """Return the columns that rows sort by, without those that a filter holds still."""
        columns = self.declared.index(order).columns if order is not None else ()
        names = {column.name for column in columns}
        key = tuple(IndexColumn(name=name) for name in self.declared.key if name not in names)
        return tuple(column for column in (*columns, *key) if column.name not in fixed)

    def _build_list_sql(
        self,
        filtered: tuple[str, ...],
        nulls: frozenset[str],
        sorting: tuple[IndexColumn, ...],
        is_later_page: bool,
    ) -> str:
        terms = _filter_terms(filtered, nulls)
        if is_later_page:
            terms.append(_boundary(sorting))
        order = ", ".join(
            quoted(column.name) + (" desc" if column.descending else "") for column in sorting
        )
        sql = self._select(" and ".join(terms) or "true")
        return sql + (f" order by {order}" if order else "") + " limit ?"

    def _select(self, condition: str) -> str:
        columns = ", ".join(map(quoted, self.columns))
        return f"select {columns} from {quoted(self.name)} where {condition}"  # noqa: S608

    def _key_match(self) -> str:
        return " and ".join(f"{quoted(name)} = ?" for name in self.declared.key)

    def _insert_sql(self) -> str:
        columns = ", ".join(map(quoted, self.columns))
        marks = ", ".join("?" * len(self.columns))
        key = ", ".join(map(quoted, self.declared.key))
        return (
            f"insert into {quoted(self.name)} ({columns}) values ({marks})"  # noqa: S608
            f" on conflict ({key}) do nothing"
        )

    def _build_update_sql(self, places: tuple[int, ...]) -> str:
        changes = ", ".join(f"{quoted(self.columns[place])} = ?" for place in places)
        return f"update {quoted(self.name)} set {changes} where {self._key_match()}"  # noqa: S608


def create_row_table(db: Database, table: RowTable) -> None:
    """Make a declared table, empty, inside the transaction that is open."""
    declared = table.declared
    types = {column.name: str if column.type == "text" else int for column in declared.columns}
    required = {column.name for column in declared.columns if column.required}
    made = db.create_table(
        table.name, {ROW_ID: int, **types}, pk=ROW_ID, not_null=required, strict=True
    )
    made.create_index(declared.key, index_name=f"{table.name}:key", unique=True)
    create_row_indexes(db, table)
    if table.has_words:
        create_word_index(db, table)


def create_row_indexes(db: Database, table: RowTable) -> None:
    """Make the declared indexes, and one by stream where rows belong to streams."""
    made = db.table(table.name)
    for index in table.declared.indexes:
        columns = [DescIndex(c.name) if c.descending else c.name for c in index.columns]
        rest = [name for name in table.declared.key if name not in {c.name for c in index.columns}]
        made.create_index([*columns, *rest], index_name=_index_name(table, index.name))
    first = {table.declared.key[0], *(index.columns[0].name for index in table.declared.indexes)}
    if table.declared.is_purgeable and STREAM_COLUMN not in first:
        made.create_index([STREAM_COLUMN], index_name=f"{table.name}:stream")


def drop_row_indexes(db: Database, table: RowTable) -> None:
    """Remove every index of a table but the one of its key."""
    names = [index.name for index in db.table(table.name).indexes]
    for name in names:
        if name != f"{table.name}:key":
            db.execute(f"drop index {quoted(name)}")


def create_word_index(db: Database, table: RowTable) -> None:
    """Make the tables that `search_index.py` fills."""
    db.create_table(table.words_table, {ROW_ID: int, "words": bytes}, pk=ROW_ID, strict=True)
    db.execute(
        f"create virtual table {quoted(table.index_table)} using"
        " fts5(words, content='', detail=none, columnsize=0, tokenize='ascii')"
    )


def drop_row_table(db: Database, table: RowTable) -> None:
    """Remove a declared table with all its rows and words."""
    for name in (table.name, table.words_table, table.index_table):
        db.execute(f"drop table if exists {quoted(name)}")


def _index_name(table: RowTable, index: str) -> str:
    return f"{table.name}:by:{index}"


def _filter_terms(names: tuple[str, ...], nulls: frozenset[str], prefix: str = "") -> list[str]:
    return [
        f"{prefix}{quoted(name)} is null" if name in nulls else f"{prefix}{quoted(name)} = ?"
        for name in names
    ]


def _boundary(sorting: tuple[IndexColumn, ...]) -> str:
    """Return the condition "behind this row" for columns that sort in mixed directions.

    `a >= ? and (a > ? or (a = ? and b < ?))`: the first term is implied by the second, but it is
    the one that SQLite can look up in an index.
    """
    if not sorting:
        return "false"
    first = sorting[0]
    behind = ""
    for column in reversed(sorting):
        step = f"{quoted(column.name)} {_behind(column)} ?"
        behind = f"({step} or ({quoted(column.name)} = ? and {behind}))" if behind else step
    return f"{quoted(first.name)} {_behind(first)}= ? and {behind}"


def _boundary_values(sorting: tuple[IndexColumn, ...], after: Row) -> list[Scalar]:
    if not sorting:
        return []
    values = [after[column.name] for column in sorting]
    return [values[0], *(value for value in values[:-1] for _ in (1, 2)), values[-1]]


def _behind(column: IndexColumn) -> str:
    return "<" if column.descending else ">"
