"""Reads of rows and searches; each says of which position its answer is true."""

from collections.abc import Mapping, Sequence

from spaced.plugin_api import Hits, Key, Row, Rows, Scalar
from spaced_sqlite.readers import Reader
from spaced_sqlite.row_tables import RowTable
from spaced_sqlite.search_index import match_expression


def get_rows(
    reader: Reader, wanted: Sequence[tuple[RowTable, Sequence[Key]]]
) -> Mapping[str, Rows]:
    """Return, by table, the rows that exist among these keys, in the order of the keys."""
    execute = reader.conn.execute
    with reader.snapshot() as head:
        found = [
            (table, [execute(table.get_sql, key).fetchone() for key in keys])
            for table, keys in wanted
        ]
    return {
        table.declared.name: Rows(
            rows=[dict(zip(table.columns, row, strict=True)) for row in rows if row is not None],
            as_of_position=head,
        )
        for table, rows in found
    }


def list_rows(
    reader: Reader,
    table: RowTable,
    *,
    where: Mapping[str, Scalar],
    order: str | None,
    after: Row | None,
    limit: int | None,
) -> Rows:
    """Return a page of rows, following an index."""
    sql, parameters = table.list_statement(where=where, order=order, after=after, limit=limit)
    columns = table.columns
    with reader.snapshot() as head:
        found = reader.conn.execute(sql, parameters).fetchall()
    rows = [dict(zip(columns, row, strict=True)) for row in found]
    return Rows(rows=rows, as_of_position=head)


def search(
    reader: Reader, table: RowTable, query: str, *, where: Mapping[str, Scalar], limit: int
) -> Hits:
    """Return the keys of rows that hold every word of a query, newest rows first."""
    expression = match_expression(query)
    sql, parameters = table.search_statement(where)
    with reader.snapshot() as head:
        found = reader.conn.execute(sql, [expression, *parameters, limit]).fetchall()
    return Hits(keys=found, as_of_position=head)
