"""The table `item`: where each item of a transcript begins, so that a screenful is read by index.

The row says which place the item has, when and at which version it began; what the item holds is
folded from its own events. So the transcript has no second copy. The item's text goes to the search
index once no more of it is to come.
"""

from collections.abc import Iterable
from typing import Final

from spaced.clock import from_rfc3339
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
)
from spaced.domain.json_values import JsonObject
from spaced.domain.session_items import is_open, searched_text
from spaced.errors import CorruptStream, InvalidTimestamp
from spaced.log.fact import Fact, item_id_in
from spaced.log.read_models.read_model import RowsInHand
from spaced.log.table import Column, Index, IndexColumn, Key, Row, Table

SESSION_NAME: Final = "session"
"""Named here and not imported: the table of sessions stands above the one of items."""

ITEM: Final = Table(
    name="item",
    key=("session_id", "item_id"),
    columns=(
        Column(name="session_id"),
        Column(name="item_id"),
        Column(name="stream"),
        Column(name="ordinal", type="integer"),
        Column(name="first_version", type="integer"),
        Column(name="created_at", type="integer"),
    ),
    indexes=(
        Index(
            name="newest",
            columns=(
                IndexColumn(name="session_id"),
                IndexColumn(name="ordinal", descending=True),
            ),
        ),
    ),
    text_columns=("text",),
    role="derived",
)


class Items:
    """Keeps `item` equal to the log."""

    table = ITEM

    def keys(self, fact: Fact) -> Iterable[tuple[str, Key]]:
        """The item that the fact is about, and its session, whose count gives the next place."""
        if _is_about_item(fact):
            yield ITEM.name, _key(fact)
            yield SESSION_NAME, (fact.session_id or "",)

    def apply(self, fact: Fact, rows: RowsInHand) -> None:
        """Write the item's row when it begins, and index its text when it is complete."""
        if not _is_about_item(fact):
            return
        session_id, item_id = key = _key(fact)
        row = rows.get(ITEM.name, key)
        if isinstance(fact.event, AgentItemAppended) and row is not None:
            raise CorruptStream(f"the item {item_id!r} of {session_id!r} is appended twice")
        if isinstance(fact.event, AgentItemTextAppended | AgentItemUpdated) and row is None:
            raise CorruptStream(f"the item {item_id!r} of {session_id!r} is changed but missing")
        if isinstance(fact.event, AgentItemTextAppended):
            return
        item = rows.item(session_id, item_id)
        text = None if is_open(item) else {"text": searched_text(item)}
        if row is None:
            rows.insert(ITEM.name, _row(fact, item, rows), text)
        elif text is not None:
            rows.put(ITEM.name, row, text)


def _is_about_item(fact: Fact) -> bool:
    return isinstance(
        fact.event,
        AgentItemAppended | AgentItemUpserted | AgentItemUpdated | AgentItemTextAppended,
    )


def _key(fact: Fact) -> tuple[str, str]:
    if fact.session_id is None or fact.item_id is None:
        raise CorruptStream(f"{fact.event.kind!r} of {fact.stream!r} names no session or no item")
    if fact.item_id != item_id_in(fact.event):
        raise CorruptStream(f"the envelope names the item {fact.item_id!r}, its body another one")
    return fact.session_id, fact.item_id


def _row(fact: Fact, item: JsonObject, rows: RowsInHand) -> Row:
    session_id, item_id = _key(fact)
    session = rows.get(SESSION_NAME, (session_id,))
    if session is None:
        raise CorruptStream(f"the item {item_id!r} belongs to no session: {session_id!r}")
    return {
        "session_id": session_id,
        "item_id": item_id,
        "stream": fact.stream,
        # The session's row was folded first, so its count includes this item.
        "ordinal": session["item_count"],
        "first_version": fact.version,
        "created_at": _created_at(fact, item),
    }


def _created_at(fact: Fact, item: JsonObject) -> int:
    """Return the time that the item began with, so that a search need not read it to know."""
    told = item.get("created_at")
    try:
        return from_rfc3339(told) if isinstance(told, str) else fact.created_at
    except InvalidTimestamp:
        return fact.created_at
