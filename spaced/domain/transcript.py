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


class _Growth:
    """A text that pieces are added to."""

    def __init__(self, text: str) -> None:
        self.parts = [text]
        self.length = len(text)

    def add(self, text: str) -> None:
        """Add a piece."""
        self.parts.append(text)
        self.length += len(text)


class Transcript:
    """The items of one session as a sequence of events leaves them.

    Attributes:
        misplaced_texts: how many pieces of text named a wrong offset. That is a fault of ours; it
            never costs the session, so the fold keeps what the pieces agree on and counts it.
    """

    def __init__(self) -> None:
        self._items: dict[str, dict[str, object]] = {}
        # Put together when they are read: adding to a long text each time would copy it each time.
        self._growing: dict[str, dict[str, _Growth]] = {}
        self.misplaced_texts = 0

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._items

    def item(self, item_id: str) -> JsonObject | None:
        """Return the item of this id as it stands, for reading only."""
        self._put_together(item_id)
        return self._items.get(item_id)

    def items(self) -> list[dict[str, object]]:
        """Return a copy of all items in their order."""
        for item_id in tuple(self._growing):
            self._put_together(item_id)
        return [copy_object(item) for item in self._items.values()]

    def apply(self, event: Event) -> None:
        """Take an event into account; events of other kinds change nothing.

        Raises:
            CorruptStream: an item has no id, is appended twice, or is missing.
        """
        match event:
            case AgentItemUpserted(item=item):
                self._growing.pop(item_id_of(item), None)
                self._items[item_id_of(item)] = copy_object(item)
            case AgentItemTextAppended():
                self._append_text(event)
            case AgentItemUpdated(item_id=item_id, updates=updates):
                self._put_together(item_id)
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
        fields = self._growing.setdefault(event.item_id, {})
        if event.field not in fields:
            stored = item.get(event.field)
            fields[event.field] = _Growth(stored if isinstance(stored, str) else "")
        growth = fields[event.field]
        if event.offset != growth.length:
            self.misplaced_texts += 1
        growth.add(event.text[max(0, growth.length - event.offset) :])

    def _put_together(self, item_id: str) -> None:
        for field, growth in self._growing.pop(item_id, {}).items():
            self._items[item_id][field] = "".join(growth.parts)
