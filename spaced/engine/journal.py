"""The one way in which facts reach the log: together with the rows that derive from them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from spaced.clock import Clock, Timestamp
from spaced.domain.events.event import Event
from spaced.domain.events.transcript import AgentItemUpdated
from spaced.domain.transcript import Transcript
from spaced.errors import CorruptStream
from spaced.log.fact import Fact, new_event
from spaced.log.fold import apply_fact, fold_transcript, keys_of
from spaced.log.read_models.catalogue import TABLES
from spaced.log.read_models.read_model import RowsInHand
from spaced.log.record import NewEvent, StreamWrite
from spaced.log.table import DeleteRow, Key, Row, RowWrite, Table
from spaced.storage.protocol import Appended, Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """An event that is to be recorded.

    Attributes:
        session_id: the session that it is about; for events of sessions only.
        created_at: when it happened; `None` is now.
    """

    event: Event
    session_id: str | None = None
    created_at: Timestamp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Statements for one stream, decided against this version of it."""

    stream: str
    expected_version: int
    statements: Sequence[Statement]


_S = TypeVar("_S")


class KnownRows:
    """Rows that need not be read again, since their only writer keeps them here."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[Key, Row | None]] = defaultdict(dict)
        # By identity: a row is never changed, and it is kept here, so that no other takes its id.
        self._states: dict[int, tuple[Row, Any]] = {}

    def knows(self, table: str, key: Key) -> bool:
        """Tell whether a row, or its absence, is known."""
        return key in self._rows[table]

    def find(self, table: str, key: Key) -> Row | None:
        """Return a row; `None` if it is absent or not known."""
        return self._rows[table].get(key)

    def all(self, table: str) -> list[Row]:
        """Return the known rows of a table."""
        return [row for row in self._rows[table].values() if row is not None]

    def state(self, row: Row, read: Callable[[Row], _S]) -> _S:
        """Return what a row holds, read once for as long as the row stays the same."""
        found = self._states.get(id(row))
        if found is None or found[0] is not row:
            found = self._states[id(row)] = (row, read(row))
        return cast("_S", found[1])

    def take_rows(self, table: Table, rows: Iterable[Row]) -> None:
        """Take rows as the storage has them."""
        for row in rows:
            self._rows[table.name][table.key_of(row)] = row

    def hold_absent(self, table: str, key: Key) -> None:
        """Take for granted that there is no row of this key."""
        self._rows[table].setdefault(key, None)

    def take_writes(self, writes: Iterable[RowWrite]) -> None:
        """Take over what was written."""
        for write in writes:
            rows = self._rows[write.table]
            if isinstance(write, DeleteRow):
                self._forget_state(rows.get(write.key))
                rows[write.key] = None
            else:
                key = TABLES[write.table].key_of(write.row)
                self._forget_state(rows.get(key))
                rows[key] = write.row

    def forget(self, table: str) -> None:
        """Let go of all rows of a table; they are read again when they are needed."""
        for row in self._rows.pop(table, {}).values():
            self._forget_state(row)

    def forget_finished(self, table: str, unfinished: Collection[str]) -> None:
        """Let go of the rows whose status is none of these."""
        rows = self._rows[table]
        gone = [k for k, row in rows.items() if row is None or row["status"] not in unfinished]
        for key in gone:
            self._forget_state(rows.pop(key))

    def _forget_state(self, row: Row | None) -> None:
        self._states.pop(id(row), None)


class Journal:
    """Appends events and their derived rows to a storage, in one piece."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock

    async def append(
        self,
        *entries: Entry,
        own_rows: Sequence[RowWrite] = (),
        bulk: bool = False,
        known: KnownRows | None = None,
    ) -> Appended:
        """Record what was decided, all or nothing.

        The rows that are read for it belong to the entries' streams alone, so the expected
        versions guard them too: had they changed in between, the append would be refused.

        Args:
            own_rows: rows that no event tells, to be written with the events.
            bulk: as for `Storage.append`.
            known: rows that need not be read; it takes over what is written.

        Raises:
            CorruptStream: a statement contradicts the state (an item appended twice, a missing
                item changed); nothing was written.
            InvalidBody: an event cannot be stored as JSON.
            StorageError: as for `Storage.append`.
        """
        written = [(entry, self._enveloped(entry)) for entry in entries]
        facts = [fact for entry, events in written for fact in _facts(entry, events)]
        rows = await self._rows_for(facts, known or KnownRows())
        transcripts = await self._items_for(facts)
        try:
            for fact in facts:
                apply_fact(fact, rows, transcripts)
        except CorruptStream:
            await self._check_versions(entries)
            raise
        row_writes = rows.writes()
        appended = await self._storage.append(
            [
                StreamWrite(
                    stream=entry.stream, expected_version=entry.expected_version, events=events
                )
                for entry, events in written
            ],
            [*row_writes, *own_rows],
            bulk=bulk,
        )
        if known is not None:
            known.take_writes(row_writes)
        return appended

    async def _check_versions(self, entries: Sequence[Entry]) -> None:
        """Refuse a stale version first: somebody else may have written what is contradicted."""
        await self._storage.append(
            [StreamWrite(stream=e.stream, expected_version=e.expected_version) for e in entries]
        )

    def _enveloped(self, entry: Entry) -> list[NewEvent]:
        now = self._clock.now()
        return [
            new_event(
                statement.event,
                created_at=now if statement.created_at is None else statement.created_at,
                session_id=statement.session_id,
            )
            for statement in entry.statements
        ]

    async def _rows_for(self, facts: Sequence[Fact], known: KnownRows) -> RowsInHand:
        wanted: dict[str, dict[Key, None]] = defaultdict(dict)
        rows = RowsInHand(TABLES)
        for fact in facts:
            for table, key in keys_of(fact):
                if known.knows(table, key):
                    rows.hold(table, key, known.find(table, key))
                else:
                    wanted[table][key] = None
        if not wanted:
            return rows
        found = await self._storage.get_rows_of({t: list(keys) for t, keys in wanted.items()})
        for table, keys in wanted.items():
            for key in keys:
                rows.hold(table, key, None)
            for row in found[table].rows:
                rows.hold(table, TABLES[table].key_of(row), row)
        return rows

    async def _items_for(self, facts: Sequence[Fact]) -> dict[str, Transcript]:
        """Fold the items that are updated: search indexes an item's whole text at its end."""
        wanted: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        for fact in facts:
            if isinstance(fact.event, AgentItemUpdated) and fact.session_id is not None:
                wanted[fact.stream, fact.session_id][fact.event.item_id] = None
        return {
            session_id: fold_transcript(
                await self._storage.read_stream(
                    stream, session_id=session_id, item_ids=list(item_ids)
                )
            )
            for (stream, session_id), item_ids in wanted.items()
        }


def _facts(entry: Entry, events: Sequence[NewEvent]) -> list[Fact]:
    return [
        Fact(
            stream=entry.stream,
            version=entry.expected_version + place,
            created_at=event.created_at,
            event=statement.event,
            session_id=event.session_id,
            item_id=event.item_id,
        )
        for place, (statement, event) in enumerate(
            zip(entry.statements, events, strict=True), start=1
        )
    ]
