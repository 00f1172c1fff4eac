"""Takes the changes of an item book as the log, the table of tails and a listening client would."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from spaced.clock import Timestamp
from spaced.domain.events.event import Event
from spaced.domain.events.transcript import AgentItemUpdated
from spaced.domain.recovery import Tail, tail_events
from spaced.domain.transcript import Transcript
from spaced.engine.recording.changes import Changes, Delta
from spaced.engine.recording.item_book import ItemBook
from spaced.log.read_models.catalogue import OPEN_TAIL
from spaced.log.table import DeleteRow, Key, PutRow, Row
from spaced.runtime.updates import ItemUpserted, TextAppended
from spaced.testing.fake_clock import START

PLACE: Final = ("ses", "ses")


@dataclass(slots=True)
class Recorded:
    """What became of all changes so far."""

    transcript: Transcript = field(default_factory=Transcript)
    events: list[Event] = field(default_factory=list)
    deltas: list[Delta] = field(default_factory=list)
    tails: dict[Key, Row] = field(default_factory=dict)

    def take(self, changes: Changes) -> Changes:
        """Record changes and return them."""
        for event in changes.events:
            self.transcript.apply(event)
        self.events += changes.events
        self.deltas += changes.deltas
        for write in changes.rows:
            if isinstance(write, DeleteRow):
                self.tails.pop(write.key, None)
            elif isinstance(write, PutRow):
                self.tails[OPEN_TAIL.key_of(write.row)] = write.row
        return changes

    def item(self, item_id: str) -> dict[str, Any]:
        """Return an item as the log has it."""
        return dict(self.transcript.item(item_id) or {})

    def after_crash(self, item_id: str, name: str) -> object:
        """Return a text as a recovery would find it."""
        recovered = Transcript()
        items = self.transcript.items()
        for event in [
            *self.events,
            *tail_events(items, [_tail(row) for row in self.tails.values()]),
        ]:
            recovered.apply(event)
        assert recovered.misplaced_texts == 0
        return (recovered.item(item_id) or {}).get(name)


def _tail(row: Row) -> Tail:
    return Tail(
        item_id=str(row["item_id"]),
        field=str(row["field"]),
        offset=int(row["offset"] or 0),
        text=str(row["text"]),
    )


@dataclass(slots=True)
class Reporter:
    """A runtime that reports to an item book, under a clock of its own."""

    now: int = START
    log: Recorded = field(default_factory=Recorded)
    book: ItemBook = field(init=False)

    def __post_init__(self) -> None:
        """Begin a book without items."""
        self.book = new_book()

    @property
    def moment(self) -> Timestamp:
        """The time as a book wants it."""
        return Timestamp(self.now)

    def upsert(self, source: str = "s", *, turn_id: str | None = "turn", **item: Any) -> Changes:
        """Report an item as it is now."""
        update = ItemUpserted(source=source, item=item, turn_id=turn_id)
        return self.log.take(self.book.upsert(update, now=self.moment))

    def append(self, text: str, source: str = "s", **fields: Any) -> Changes:
        """Report more text."""
        update = TextAppended(source=source, text=text, **({"turn_id": "turn"} | fields))
        return self.log.take(self.book.append(update, now=self.moment))

    def tick(self) -> Changes:
        """Let the book look at the time."""
        return self.log.take(self.book.tick(self.moment))

    def end_turn(self, turn_id: str = "turn", *, is_completed: bool = True) -> Changes:
        """End a turn."""
        changes = self.book.end_turn(turn_id, is_completed=is_completed, now=self.moment)
        return self.log.take(changes)

    def item(self, source: str = "s") -> dict[str, Any]:
        """Return what the log has under a provider's name."""
        item_id = self.book.item_id(source)
        assert item_id is not None
        return self.log.item(item_id)


def new_book(generation: int = 1, *, prefix: str = "itm") -> ItemBook:
    """Return an empty book whose ids count up."""
    numbers = count(1)
    return ItemBook(
        stream="ses",
        session_id="ses",
        generation=generation,
        new_id=lambda: f"{prefix}-{next(numbers)}",
    )


def updates_of(changes: Changes) -> list[dict[str, object]]:
    """Return what the changes update, event by event."""
    return [dict(e.updates) for e in changes.events if isinstance(e, AgentItemUpdated)]


def is_nothing(changes: Changes) -> bool:
    """Tell whether changes bring nothing at all."""
    return not (changes.events or changes.rows or changes.deltas)
