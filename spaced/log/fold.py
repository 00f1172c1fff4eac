"""Replays a stream into rows and transcripts, and keeps a fault of one stream to that stream."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from spaced.domain.transcript import Transcript, begins_item
from spaced.errors import CorruptStream, InvalidBody
from spaced.log.fact import Fact, fact_of
from spaced.log.read_models.catalogue import READ_MODELS, TABLES
from spaced.log.read_models.read_model import RowsInHand
from spaced.log.read_models.runs import RUN
from spaced.log.record import RecordedEvent
from spaced.log.table import DeleteRow, Key, PutRow, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Where a stream cannot be folded any further, and why."""

    stream: str
    version: int
    reason: str

    def __str__(self) -> str:
        return f"{self.stream} is damaged at version {self.version}: {self.reason}"


@dataclass(slots=True, kw_only=True)
class StreamFold:
    """All that one stream's events give: rows, their texts, transcripts.

    Attributes:
        rows: by table and key, as `PutRow` so that the texts for search are with them.
        transcripts: by session.
        damage: the first fault; what follows it in the stream is not folded.
    """

    rows: dict[tuple[str, Key], PutRow] = field(default_factory=dict)
    transcripts: dict[str, Transcript] = field(default_factory=dict)
    damage: Damage | None = None

    def take(self, events: Iterable[RecordedEvent]) -> None:
        """Fold the next events of the stream, up to its first fault."""
        for recorded in events:
            if self.damage is not None:
                return
            try:
                fact = fact_of(recorded)
                if fact is not None:
                    self._apply(fact)
            except (CorruptStream, InvalidBody) as error:
                self._stop(recorded, str(error))

    def row(self, table: str, key: Key) -> Row | None:
        """Return a folded row."""
        put = self.rows.get((table, key))
        return None if put is None else put.row

    def _apply(self, fact: Fact) -> None:
        rows = RowsInHand(TABLES)
        for table, key in keys_of(fact):
            rows.hold(table, key, self.row(table, key))
        apply_fact(fact, rows, self.transcripts)
        for write in rows.writes():
            if isinstance(write, DeleteRow):
                self.rows.pop((write.table, write.key), None)
            else:
                self._put(write.table, write.row, write.text)

    def _put(self, table: str, row: Row, text: Mapping[str, str] | None) -> None:
        key = TABLES[table].key_of(row)
        if text is None:
            before = self.rows.get((table, key))
            text = None if before is None else before.text
        self.rows[table, key] = PutRow(table=table, row=row, text=text)

    def _stop(self, at: RecordedEvent, reason: str) -> None:
        self.damage = Damage(stream=at.stream, version=at.version, reason=reason)
        run = self.rows.get((RUN.name, (at.stream,)))
        if run is not None:
            self._put(RUN.name, {**run.row, "damage": str(self.damage)}, None)


def keys_of(fact: Fact) -> Iterable[tuple[str, Key]]:
    """Return the rows that the read models look at for a fact, as table and key."""
    for model in READ_MODELS:
        yield from model.keys(fact)


def apply_fact(fact: Fact, rows: RowsInHand, transcripts: dict[str, Transcript]) -> None:
    """Write the rows that a fact changes, and take it into its session's transcript.

    Args:
        rows: must hold what `keys_of` names for the fact.
        transcripts: by session; they may lack items that only get more text, since that changes
            no row.

    Raises:
        CorruptStream: the fact contradicts what came before it.
    """
    if fact.session_id is not None and fact.item_id is not None:
        transcript = transcripts.setdefault(fact.session_id, Transcript())
        if fact.item_id in transcript or begins_item(fact.event):
            transcript.apply(fact.event)
        item = transcript.item(fact.item_id)
        if item is not None:
            rows.hold_item(fact.session_id, fact.item_id, item)
    for model in READ_MODELS:
        model.apply(fact, rows)


def fold_stream(events: Sequence[RecordedEvent]) -> StreamFold:
    """Fold a stream from its first event."""
    fold = StreamFold()
    fold.take(events)
    return fold


def fold_transcript(events: Iterable[RecordedEvent]) -> Transcript:
    """Fold the items of one session from its events, or of some items from theirs.

    Raises:
        CorruptStream: the events contradict each other.
        InvalidBody: a body does not have the shape of its kind.
    """
    transcript = Transcript()
    for recorded in events:
        fact = fact_of(recorded)
        if fact is not None:
            transcript.apply(fact.event)
    return transcript
