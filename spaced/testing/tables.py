"""The tables with which the storage contract is proved, and rows for them.

`card` has everything a table can have; `label` belongs to no stream, so a purge spares it; `slot`
exists for uniqueness over all streams.
"""

from typing import Final

from spaced.log.table import Column, Index, IndexColumn, PutRow, Row, Table

CARD: Final = Table(
    name="card",
    key=("card_id",),
    columns=(
        Column(name="card_id"),
        Column(name="stream"),
        Column(name="board"),
        Column(name="rank", type="integer"),
        Column(name="title"),
        Column(name="done_at", type="integer", required=False),
        Column(name="note", required=False),
    ),
    role="derived",
    indexes=(
        Index(name="by_title", columns=(IndexColumn(name="title"),)),
        Index(
            name="by_board",
            columns=(IndexColumn(name="board"), IndexColumn(name="rank", descending=True)),
        ),
        Index(
            name="latest",
            columns=(IndexColumn(name="rank", descending=True), IndexColumn(name="title")),
        ),
        Index(name="by_title_backwards", columns=(IndexColumn(name="title", descending=True),)),
    ),
    text_columns=("heading", "content"),
)

LABEL: Final = Table(
    name="label",
    key=("owner", "number"),
    columns=(
        Column(name="owner"),
        Column(name="number", type="integer"),
        Column(name="note", required=False),
    ),
    role="own",
    indexes=(Index(name="by_number", columns=(IndexColumn(name="number", descending=True),)),),
    text_columns=("words",),
)

SLOT: Final = Table(
    name="slot",
    key=("name",),
    columns=(Column(name="name"), Column(name="stream")),
    role="derived",
)

SAMPLE_TABLES: Final = (CARD, LABEL, SLOT)


def card(
    card_id: str,
    *,
    stream: str = "run-1",
    board: str = "main",
    rank: int = 1,
    title: str = "",
    done_at: int | None = None,
    note: str | None = None,
) -> Row:
    """Return a row of `card`."""
    return {
        "card_id": card_id,
        "stream": stream,
        "board": board,
        "rank": rank,
        "title": title,
        "done_at": done_at,
        "note": note,
    }


def put_card(card_id: str, *, stream: str = "run-1", content: str | None = None) -> PutRow:
    """Return the writing of a plain card, with its content indexed where one is given."""
    text = None if content is None else {"content": content}
    return PutRow(table="card", row=card(card_id, stream=stream), text=text)


def label(owner: str, number: int, *, note: str | None = None) -> Row:
    """Return a row of `label`."""
    return {"owner": owner, "number": number, "note": note}


def slot(name: str, *, stream: str = "run-1") -> Row:
    """Return a row of `slot`."""
    return {"name": name, "stream": stream}
