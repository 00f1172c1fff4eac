"""The table `open_item`: the items of which more is to come, so that a crash leaves none open.

Its rows are few: an item has one only while it is open. What a recovery closes and what a runtime
that is reattached goes on with is found here, without reading any transcript.
"""

from collections.abc import Iterable
from typing import Final

from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemUpdated,
    AgentItemUpserted,
)
from spaced.domain.json_values import JsonObject
from spaced.domain.session_items import is_open
from spaced.log.fact import Fact
from spaced.log.read_models.read_model import RowsInHand
from spaced.log.table import Column, Key, Row, Table

OPEN_ITEM: Final = Table(
    name="open_item",
    key=("session_id", "item_id"),
    columns=(
        Column(name="session_id"),
        Column(name="item_id"),
        Column(name="stream"),
        Column(name="turn_id", required=False),
    ),
    role="derived",
)


class OpenItems:
    """Keeps `open_item` equal to the log."""

    table = OPEN_ITEM

    def keys(self, fact: Fact) -> Iterable[tuple[str, Key]]:
        """The item that the fact opens, changes or closes."""
        if _changes_fields(fact):
            yield OPEN_ITEM.name, _key(fact)

    def apply(self, fact: Fact, rows: RowsInHand) -> None:
        """Write the row when the item opens, and remove it when it closes."""
        if not _changes_fields(fact):
            return
        key = _key(fact)
        row = rows.get(OPEN_ITEM.name, key)
        item = rows.item(*key)
        if not is_open(item):
            if row is not None:
                rows.delete(OPEN_ITEM.name, key)
            return
        new_row = _row(fact, item)
        if new_row != row:
            rows.put(OPEN_ITEM.name, new_row)


def _changes_fields(fact: Fact) -> bool:
    return isinstance(fact.event, AgentItemAppended | AgentItemUpserted | AgentItemUpdated)


def _key(fact: Fact) -> tuple[str, str]:
    # The table `item` is folded first and has refused a fact that lacks one of these.
    return fact.session_id or "", fact.item_id or ""


def _row(fact: Fact, item: JsonObject) -> Row:
    session_id, item_id = _key(fact)
    turn_id = item.get("turn_id")
    return {
        "session_id": session_id,
        "item_id": item_id,
        "stream": fact.stream,
        "turn_id": turn_id if isinstance(turn_id, str) else None,
    }
