"""The fold of a session's items: pure, and in the order of the stream.

Every item that goes in is copied, and so is every item that comes out as a whole transcript: so
neither an event nor another projection can be changed through what a caller holds.
"""

from spaced.domain.events.event import Event
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
)
from spaced.domain.json_values import JsonObject, copy_object
from spaced.domain.session_items import item_id_of
from spaced.errors import CorruptStream


def begins_item(event: Event) -> bool:
    """Whether the event carries a whole item, so that the item need not exist before it."""
    return isinstance(event, AgentItemAppended | AgentItemUpserted)


class Transcript:
    """The items of one session as a sequence of events leaves them.

    Attributes:
        misplaced_texts: how many pieces of text named a wrong offset. That is a fault of ours; it
            never costs the session, so the fold keeps what the pieces agree on and counts it.
    """

    def __init__(self) -> None:
        self._items: dict[str, dict[str, object]] = {}
        self.misplaced_texts = 0

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._items

    def item(self, item_id: str) -> JsonObject | None:
        """Return the item of this id as it stands, for reading only."""
        return self._items.get(item_id)

    def items(self) -> list[dict[str, object]]:
        """Return a copy of all items in their order."""
        return [copy_object(item) for item in self._items.values()]

    def apply(self, event: Event) -> None:
        """Take an event into account; events of other kinds change nothing.

        Raises:
            CorruptStream: an item has no id, is appended twice, or is missing.
        """
        match event:
            case AgentItemUpserted(item=item):
                self._items[item_id_of(item)] = copy_object(item)
            case AgentItemTextAppended():
                self._append_text(event)
            case AgentItemUpdated(item_id=item_id, updates=updates):
                existing = self._existing(item_id)
                existing.update(copy_object(updates))
                existing["id"] = item_id
            case AgentItemAppended(item=item):
                item_id = item_id_of(item)
                if item_id in self._items:
                    raise CorruptStream(f"the item {item_id!r} is appended twice")
                self._items[item_id] = copy_object(item)
            case _:
                pass

    def _existing(self, item_id: str) -> dict[str, object]:
        try:
            return self._items[item_id]
        except KeyError:
            raise CorruptStream(f"the item {item_id!r} is changed but does not exist") from None

    def _append_text(self, event: AgentItemTextAppended) -> None:
        item = self._existing(event.item_id)
        stored = item.get(event.field)
        text = stored if isinstance(stored, str) else ""
        if event.offset != len(text):
            self.misplaced_texts += 1
        item[event.field] = text + event.text[max(0, len(text) - event.offset) :]
