"""Reads a whole chat in pages: its sessions, items, prompts, turns, asks and events.

A reader tells the run as of the version that it had at the start: what is recorded meanwhile is not
in the events and items. Rows of prompts, turns and asks are as they are when their page is read.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spaced.domain.json_values import JsonObject
from spaced.domain.run import Run
from spaced.domain.session import Session
from spaced.engine.session_lists import SessionLists
from spaced.errors import CorruptStream, InvalidBody
from spaced.log.fold import fold_transcript
from spaced.log.read_models.items import ITEM
from spaced.log.read_models.lives import Lives
from spaced.log.read_models.sessions import SESSION, session_of
from spaced.log.record import RecordedEvent
from spaced.log.table import Row
from spaced.storage.protocol import Storage

_ITEMS: Final = 50
_EVENTS: Final = 50
_ROWS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldItem:
    """An item's events, from which it is folded."""

    session_id: str
    item_id: str
    events: Sequence[RecordedEvent]

    def fold(self) -> JsonObject:
        """Return the item.

        Raises:
            CorruptStream: its events contradict each other.
            InvalidBody: one of them cannot be read.
        """
        items = fold_transcript(self.events).items()
        if not items:
            raise CorruptStream("no event that this version of spaced knows tells it")
        return items[0]

    def fold_or_problem(self) -> tuple[JsonObject | None, str]:
        """Return the item, or one sentence on why it cannot be had."""
        try:
            return self.fold(), ""
        except (CorruptStream, InvalidBody) as error:
            return None, f"the item {self.item_id!r} of {self.session_id!r} is damaged: {error}"


class ChatReader:
    """A chat that is being read.

    Attributes:
        session: the one that was asked for.
        sessions: all of the run that were not deleted, in the order of their ids.
        left_out: the ids of those that were; nothing about them is read.
        version: of the run's stream, up to which everything is read.
        damage: why the stream cannot be read further, if the rows know.
    """

    def __init__(
        self, storage: Storage, *, run: Run, session: Session, version: int, damage: str | None
    ) -> None:
        self.run = run
        self.session = session
        self.version = version
        self.damage = damage
        self.sessions: Sequence[Session] = ()
        self.left_out: frozenset[str] = frozenset()
        self._storage = storage

    @classmethod
    async def open(cls, storage: Storage, session_id: str) -> "ChatReader":
        """Find a chat by one of its sessions.

        Raises:
            UnknownSession: there is none of this id, or it was deleted.
        """
        found = await SessionLists(storage).get(session_id)
        version = await storage.version(found.run.id)
        chat = cls(
            storage, run=found.run, session=found.session, version=version, damage=found.damage
        )
        await chat._read_sessions()
        return chat

    async def _read_sessions(self) -> None:
        rows = (await self._storage.list_rows(SESSION.name, where={"stream": self.run.id})).rows
        self.sessions = tuple(session_of(row) for row in rows if row["visibility"] != "hidden")
        self.left_out = frozenset(str(row["id"]) for row in rows if row["visibility"] == "hidden")

    async def items(self, session: Session) -> AsyncIterator[Sequence[ToldItem]]:
        """Read a session's items in the order of the transcript."""
        for done in range(0, session.item_count, _ITEMS):
            rows = await self._item_rows(session.id, done)
            item_ids = [str(row["item_id"]) for row in rows]
            events = await self._storage.read_stream(
                self.run.id, session_id=session.id, item_ids=item_ids
            )
            told: dict[str, list[RecordedEvent]] = {item_id: [] for item_id in item_ids}
            for event in events:
                if event.version <= self.version:
                    told[str(event.item_id)].append(event)
            yield [
                ToldItem(session_id=session.id, item_id=item_id, events=found)
                for item_id, found in told.items()
                if found
            ]

    async def _item_rows(self, session_id: str, done: int) -> Sequence[Row]:
        """Return the rows of the items that follow the first ones.

        Items are indexed from the newest to the oldest. Their places count without a gap, so this
        asks for those before the place that follows the page, and turns them round.
        """
        behind: Row = {"session_id": session_id, "item_id": "", "ordinal": done + _ITEMS + 1}
        found = await self._storage.list_rows(
            ITEM.name,
            where={"session_id": session_id},
            order="newest",
            after=behind,
            limit=_ITEMS + 1,
        )
        places = range(done + 1, done + _ITEMS + 1)
        return [row for row in reversed(found.rows) if row["ordinal"] in places]

    async def lives(self, lives: Lives[Any], **where: str) -> AsyncIterator[Sequence[Any]]:
        """Read all prompts, turns or asks of the run, or those of which columns have a value."""
        after: Row | None = None
        while page := (
            await self._storage.list_rows(
                lives.table.name,
                where={"stream": self.run.id, **where},
                after=after,
                limit=_ROWS,
            )
        ).rows:
            states = map(lives.state_of, page)
            yield [state for state in states if state.session_id not in self.left_out]
            after = page[-1]

    async def events(self) -> AsyncIterator[Sequence[RecordedEvent]]:
        """Read the run's events; those about deleted sessions are left out."""
        version = 0
        while version < self.version:
            limit = min(_EVENTS, self.version - version)
            page = await self._storage.read_stream(self.run.id, after=version, limit=limit)
            if not page:
                return  # it was deleted for good meanwhile
            yield [event for event in page if event.session_id not in self.left_out]
            version = page[-1].version
