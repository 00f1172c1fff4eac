"""One item as a runtime's reports leave it: what the log holds of it, and what is on its way."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgspec

from spaced.domain.events.event import Event
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentItemUpdated,
)
from spaced.domain.growing_text import GrowingText
from spaced.domain.json_values import JsonObject
from spaced.domain.open_text import INTERVAL_MS, LONGEST_PIECE, Due, Piece
from spaced.domain.session_items import closing_fields, is_open
from spaced.engine.recording.changes import Changes, Delta
from spaced.log.read_models.catalogue import OPEN_TAIL
from spaced.log.table import DeleteRow, PutRow

GROWING_FIELDS: Final = ("content", "output")


class OpenEntry:
    """An item of which more may come.

    Attributes:
        item_id: our id for it.
        turn_id: the turn that made it.
        is_open: whether the agent is still at it.
    """

    def __init__(self, item_id: str, *, place: tuple[str, str], turn_id: str | None) -> None:
        """Begin without any field.

        Args:
            place: the stream and the session, for the row of an open tail.
        """
        self.item_id = item_id
        self.turn_id = turn_id
        self.is_open = True
        self._stream, self._session_id = place
        self._state: dict[str, object] = {}
        self._known: dict[str, bytes] = {}
        self._texts: dict[str, GrowingText] = {}
        self._due: dict[str, object] = {}
        self._rewritten: dict[str, str] = {}
        self._rewritten_at: int | None = None

    @classmethod
    def recorded(cls, item: JsonObject, *, place: tuple[str, str]) -> "OpenEntry":
        """Go on with an item as the log has it."""
        turn_id = item.get("turn_id")
        entry = cls(
            str(item["id"]), place=place, turn_id=turn_id if isinstance(turn_id, str) else None
        )
        entry._note(item)
        entry.is_open = is_open(item)
        for name, stored in _growing(item):
            is_capped = name == "output" and entry.is_open
            entry._texts[name] = GrowingText.stored(stored, is_capped=is_capped)
        return entry

    @property
    def type(self) -> str:
        """The item's type."""
        return str(self._state.get("type"))

    @property
    def status(self) -> object:
        """How far a tool call is, as it was reported last."""
        return self._state.get("status")

    @property
    def call_id(self) -> str | None:
        """What pairs a tool's call with its result."""
        call_id = self._state.get("call_id")
        return call_id if isinstance(call_id, str) else None

    @property
    def name(self) -> object:
        """The tool's name, where the item is about one."""
        return self._state.get("name")

    @property
    def is_safe(self) -> bool:
        """Whether the log holds all that was reported."""
        if self._due or self._rewritten:
            return False
        return all(text.is_safe for text in self._texts.values())

    def begin(self, fields: Mapping[str, object]) -> Changes:
        """Take the first report, which appends the item."""
        item = {"id": self.item_id, **fields}
        self._note(fields)
        self.is_open = is_open(item)
        later = Changes()
        for name, whole in _growing(fields):
            stored, rest = self._replace_text(name, whole)
            item[name] = stored
            later.add(rest)
        changes = Changes(events=[AgentItemAppended(item=item)])
        changes.add(later)
        if not self.is_open:
            changes.add(self._end())
        return changes

    def merge(self, fields: Mapping[str, object], *, now: int) -> Changes:
        """Take a report about an item that is there; fields that it lacks stay as they are."""
        changes = Changes()
        for name, value in fields.items():
            if name in GROWING_FIELDS and isinstance(value, str):
                changes.add(self._merge_text(name, value, now))
            elif name not in self._texts and _digest(value) != self._known.get(name):
                self._due[name] = value
        self._note(fields)
        self.is_open = is_open(self._state)
        if not self.is_open:
            changes.add(self._end())
        elif (self._due or self._rewritten) and self._may_rewrite(now):
            changes.add(self._rewrite(now))
        return changes

    def append(self, field: str, text: str, *, now: int) -> Changes:
        """Take text that is added to a field."""
        if field in self._rewritten:
            self._rewritten[field] += text
            return Changes()
        if field not in self._texts:
            self._texts[field] = _new_text(field)
        changes = self._grow(field, text, now=now)
        if not self.is_open:
            changes.add(self._end())
        return changes

    def tick(self, now: int) -> Changes:
        """Write what has waited for long enough."""
        changes = Changes()
        for name in self._texts:
            changes.add(self._grow(name, "", now=now))
        if (self._due or self._rewritten) and self._may_rewrite(now):
            changes.add(self._rewrite(now))
        return changes

    def close(self, *, is_completed: bool) -> Changes:
        """End the item, which is open, by us."""
        fields = closing_fields(self._state, is_completed=is_completed)
        self._due.update(fields)
        self._note(fields)
        self.is_open = False
        return self._end()

    def _end(self) -> Changes:
        """Write everything; the fields last, so that the item is indexed with its whole text."""
        changes = self._write_rewritten()
        endings = {name: text.close() for name, text in self._texts.items()}
        for name, ending in endings.items():
            changes.events += [self._text_event(name, piece) for piece in ending.pieces]
            self._due.update(ending.facts)
        for name in self._texts:
            changes.add(self._without_tail(name))
        self._texts = {name: text.after_end() for name, text in self._texts.items()}
        changes.events += self._updated()
        return changes

    def _note(self, fields: Mapping[str, object]) -> None:
        for name, value in fields.items():
            if name not in GROWING_FIELDS or not isinstance(value, str):
                self._known[name] = _digest(value)
            if name in ("type", "status", "stream_status", "call_id", "name"):
                self._state[name] = value

    def _may_rewrite(self, now: int) -> bool:
        # A clock that jumped back must not silence rewrites.
        at = self._rewritten_at
        return at is None or not 0 <= now - at < INTERVAL_MS

    def _rewrite(self, now: int) -> Changes:
        self._rewritten_at = now
        changes = self._write_rewritten()
        changes.events += self._updated()
        return changes

    def _updated(self) -> list[Event]:
        updates, self._due = self._due, {}
        return [AgentItemUpdated(item_id=self.item_id, updates=updates)] if updates else []

    def _write_rewritten(self) -> Changes:
        """Write texts that replace others: the text first, then what does not fit into an event."""
        changes = Changes()
        rewritten, self._rewritten = self._rewritten, {}
        for name, whole in rewritten.items():
            stored, rest = self._replace_text(name, whole)
            changes.events.append(AgentItemUpdated(item_id=self.item_id, updates={name: stored}))
            changes.add(rest)
        return changes

    def _replace_text(self, field: str, whole: str) -> tuple[str, Changes]:
        changes = self._without_tail(field)
        text = self._texts[field] = _new_text(field)
        stored = text.begin(whole[:LONGEST_PIECE])
        if rest := whole[LONGEST_PIECE:]:
            # The time does not matter: so much text is due at once, and a little waits on.
            changes.add(self._grow(field, rest, now=0))
        return stored, changes

    def _without_tail(self, field: str) -> Changes:
        """Remove the row of a tail: a recovery would put it behind a text that it is no part of."""
        text = self._texts.get(field)
        if text is None or not text.has_tail:
            return Changes()
        key = (self._session_id, self.item_id, field)
        return Changes(rows=[DeleteRow(table=OPEN_TAIL.name, key=key)])

    def _merge_text(self, field: str, whole: str, now: int) -> Changes:
        if field in self._rewritten:
            self._rewritten[field] = whole
            return Changes()
        text = self._texts.get(field)
        beyond = None if text is None else text.beyond(whole)
        if beyond is None:
            self._rewritten[field] = whole
            return Changes()
        return self._grow(field, beyond, now=now) if beyond else Changes()

    def _grow(self, field: str, text: str, *, now: int) -> Changes:
        growth = self._texts[field].grow(text, now=now)
        changes = Changes()
        if growth.text:
            delta = Delta(item_id=self.item_id, field=field, offset=growth.offset, text=growth.text)
            changes.deltas.append(delta)
        for due in growth.due:
            if isinstance(due, Piece):
                changes.events.append(self._text_event(field, due))
            else:
                changes.rows.append(self._tail_row(field, due))
        return changes

    def _text_event(self, field: str, piece: Piece) -> AgentItemTextAppended:
        return AgentItemTextAppended(
            item_id=self.item_id, field=field, offset=piece.offset, text=piece.text
        )

    def _tail_row(self, field: str, tail: Due) -> PutRow:
        return PutRow(
            table=OPEN_TAIL.name,
            row={
                "session_id": self._session_id,
                "item_id": self.item_id,
                "field": field,
                "stream": self._stream,
                "offset": tail.offset,
                "text": tail.text,
            },
        )


def _growing(fields: Mapping[str, object]) -> list[tuple[str, str]]:
    found = ((name, fields.get(name)) for name in GROWING_FIELDS)
    return [(name, value) for name, value in found if isinstance(value, str)]


def _new_text(field: str) -> GrowingText:
    return GrowingText(is_capped=field == "output")


def _digest(value: object) -> bytes:
    return sha256(msgspec.json.encode(value, order="deterministic")).digest()
