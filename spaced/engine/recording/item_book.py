"""The items that an execution has reported: which is which, which are open, and what to record.

The core gives items ids of its own, since a provider's names are unique only within a generation.
Output that comes after its turn has ended, or out of any turn, is kept and marked. Of the items
that are complete the last thousand are remembered; a report about an older one opens a new item.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from spaced.clock import Timestamp, to_rfc3339
from spaced.domain.json_values import JsonObject
from spaced.domain.session_items import event_item, interrupted_result
from spaced.domain.text_door import storable_object, storable_text
from spaced.engine.recording.changes import Changes
from spaced.engine.recording.open_entry import OpenEntry
from spaced.runtime.updates import ItemUpserted, TextAppended, UnknownReport

_OURS: Final = frozenset({"id", "turn_id", "round", "source", "late", "background", "created_at"})
REMEMBERED: Final = 1000
_STREAMED: Final = ("message", "reasoning", "tool-result")


class ItemBook:
    """Turns reports about items into events."""

    def __init__(
        self,
        *,
        stream: str,
        session_id: str,
        generation: int,
        new_id: Callable[[], str],
    ) -> None:
        self._place = (stream, session_id)
        self._generation = generation
        self._new_id = new_id
        self._entries: dict[str, OpenEntry] = {}
        self._open_sources: dict[str, None] = {}
        self._unanswered: dict[str, OpenEntry] = {}
        self._ended_turns: set[str] = set()

    def adopt(self, items: Iterable[JsonObject]) -> None:
        """Take over items that an earlier life of the daemon has recorded, open or not."""
        for item in items:
            source = item.get("source")
            if isinstance(source, Mapping) and source.get("generation") == self._generation:
                entry = OpenEntry.recorded(item, place=self._place)
                self._entries[str(source.get("id"))] = entry
                self._note_state(str(source.get("id")))
                self._note_call(entry)

    def begin_generation(self, generation: int) -> None:
        """Forget every name of the provider: from now on they mean other items."""
        self._generation = generation
        # What is open is closed under names that no report can have.
        self._entries = {f"{i}\0": self._entries[s] for i, s in enumerate(self._open_sources)}
        self._open_sources = dict.fromkeys(self._entries)

    def item_id(self, source: str | None) -> str | None:
        """Return our id for what a provider names."""
        entry = None if source is None else self._entries.get(source)
        return None if entry is None else entry.item_id

    @property
    def is_safe(self) -> bool:
        """Whether the log holds all that was reported."""
        return all(entry.is_safe for entry in self._open_entries())

    def upsert(self, update: ItemUpserted, *, now: Timestamp) -> Changes:
        """Take a report of an item as it is now."""
        fields = {k: v for k, v in update.item.items() if k not in _OURS}
        entry = self._entries.get(update.source)
        if entry is None:
            return self._open(update, fields, now)
        if self._is_late(entry):
            fields["late"] = True
        changes = entry.merge(fields, now=now)
        self._note_state(update.source)
        return changes

    def append(self, update: TextAppended, *, now: Timestamp) -> Changes:
        """Take text that is added to an item."""
        entry = self._entries.get(update.source)
        if entry is not None:
            changes = entry.append(update.field, update.text, now=now)
            if self._is_late(entry):
                changes.add(entry.merge({"late": True}, now=now))
            return changes
        fields: dict[str, object] = {**(update.opens_with or {}), "type": update.item_type}
        fields[update.field] = update.text
        if update.item_type in _STREAMED:
            fields.setdefault("stream_status", "streaming")
        return self._open(update, {k: v for k, v in fields.items() if k not in _OURS}, now)

    def note(self, update: UnknownReport, *, now: Timestamp) -> Changes:
        """Keep what no other update can say."""
        return self.notice(update.kind, update.payload, turn_id=update.turn_id, now=now)

    def notice(
        self, event: str, details: JsonObject, *, turn_id: str | None, now: Timestamp
    ) -> Changes:
        """Add an item that says what happened."""
        entry = OpenEntry(self._new_id(), place=self._place, turn_id=turn_id)
        return entry.begin(
            event_item(
                entry.item_id,
                storable_text(event),
                storable_object(details),
                to_rfc3339(now),
                turn_id=turn_id,
            )
        )

    def tick(self, now: Timestamp) -> Changes:
        """Write what has waited for a second."""
        changes = Changes()
        for entry in self._open_entries():
            changes.add(entry.tick(now))
        return changes

    def end_turn(self, turn_id: str, *, is_completed: bool, now: Timestamp) -> Changes:
        """Close what a turn leaves open; of a completed one, tools may go on in the background."""
        self._ended_turns.add(turn_id)
        mine = [entry for entry in self._open_entries() if entry.turn_id == turn_id]
        if is_completed:
            mine = [entry for entry in mine if entry.type != "tool-call"]
            return self._close(mine, is_completed=True)
        changes = self._close(mine, is_completed=False)
        changes.add(self._close_calls(turn_id, now))
        return changes

    def end_streams(self) -> Changes:
        """Close texts that came late or in the background: a new turn begins."""
        mine = [entry for entry in self._open_entries() if entry.type in _STREAMED]
        return self._close(mine, is_completed=True)

    def end_execution(self, now: Timestamp) -> Changes:
        """Close everything: nobody is left who could go on with it."""
        changes = self._close(self._open_entries(), is_completed=False)
        changes.add(self._close_calls(None, now))
        return changes

    def _close(self, entries: Iterable[OpenEntry], *, is_completed: bool) -> Changes:
        changes = Changes()
        for entry in entries:
            changes.add(entry.close(is_completed=is_completed))
        for source in tuple(self._open_sources):
            self._note_state(source)
        return changes

    def _close_calls(self, turn_id: str | None, now: Timestamp) -> Changes:
        """Give calls of a turn, or of all turns, that were cut off a result that says so."""
        changes = Changes()
        for call_id, call in tuple(self._unanswered.items()):
            if turn_id is None or call.turn_id == turn_id:
                del self._unanswered[call_id]
                if call.status not in ("completed", "failed"):
                    changes.add(self._interrupted_result(call, call_id, now))
        return changes

    def _interrupted_result(self, call: OpenEntry, call_id: str, now: Timestamp) -> Changes:
        result = OpenEntry(self._new_id(), place=self._place, turn_id=call.turn_id)
        known = {"call_id": call_id, "name": call.name, "turn_id": call.turn_id}
        return result.begin(interrupted_result(known, to_rfc3339(now)))

    def _open(
        self, update: ItemUpserted | TextAppended, fields: Mapping[str, object], now: Timestamp
    ) -> Changes:
        entry = OpenEntry(self._new_id(), place=self._place, turn_id=update.turn_id)
        self._entries[update.source] = entry
        marks: dict[str, object] = {"created_at": to_rfc3339(now)}
        if update.turn_id is None:
            marks["background"] = True
        else:
            marks["turn_id"] = update.turn_id
        if update.turn_id in self._ended_turns:
            marks["late"] = True
        if update.round is not None:
            marks["round"] = update.round
        marks["source"] = {"generation": self._generation, "id": storable_text(update.source)}
        changes = entry.begin({**fields, **marks})
        self._note_call(entry)
        self._note_state(update.source)
        return changes

    def _open_entries(self) -> list[OpenEntry]:
        return [self._entries[source] for source in self._open_sources]

    def _note_state(self, source: str) -> None:
        """Move an item to the open ones or to the complete ones, and forget the oldest of these."""
        if self._entries[source].is_open:
            self._open_sources[source] = None
            return
        self._open_sources.pop(source, None)
        self._entries[source] = self._entries.pop(source)
        while len(self._entries) - len(self._open_sources) > REMEMBERED:
            oldest = next(name for name in self._entries if name not in self._open_sources)
            del self._entries[oldest]

    def _is_late(self, entry: OpenEntry) -> bool:
        return entry.turn_id in self._ended_turns

    def _note_call(self, entry: OpenEntry) -> None:
        """Remember a call as long as it has no result."""
        if entry.call_id is None:
            return
        if entry.type == "tool-call":
            self._unanswered.setdefault(entry.call_id, entry)
        elif entry.type == "tool-result":
            self._unanswered.pop(entry.call_id, None)
