"""Takes what a runtime reports about one execution, and makes it durable in the reported order.

Text that is not due yet waits in memory for at most a second; everything else is recorded before
`report` returns. What cannot be written now, since the disk is full, is kept and written later.
What a deleted session cannot take any more is counted and refused.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import msgspec

from spaced.clock import Timestamp
from spaced.domain.events.event import Event
from spaced.domain.events.session import SessionReset
from spaced.domain.events.transcript import (
    AgentItemTextAppended,
    AgentSessionDataUpdated,
)
from spaced.domain.json_values import JsonObject
from spaced.domain.replay import compare
from spaced.domain.session import Session
from spaced.domain.text_door import storable_object
from spaced.engine.announcements import TextDelta
from spaced.engine.held_run import HeldRun, about
from spaced.engine.parts import EngineParts
from spaced.engine.recording.ask_book import AskBook
from spaced.engine.recording.changes import Changes
from spaced.engine.recording.item_book import ItemBook
from spaced.engine.recording.signals import Signal, storable_signal
from spaced.engine.transcripts import newest_items
from spaced.errors import (
    CorruptStream,
    InvalidBody,
    KeyTaken,
    SpacedError,
    StorageError,
    StreamPurged,
)
from spaced.log.table import RowWrite
from spaced.runtime.protocol import SessionSpec
from spaced.runtime.updates import (
    AgentRetrying,
    AskWithdrawn,
    ContinuityChanged,
    ConversationLost,
    ConversationReplayed,
    ExecutionFinished,
    ItemUpserted,
    PermissionWanted,
    PromptNotTaken,
    QuestionWanted,
    SessionInfoChanged,
    TextAppended,
    TurnFinished,
    UnknownReport,
    Update,
    UsageChanged,
)

log = logging.getLogger(__name__)

TICK_MS: Final = 1000
_COMPARED: Final = 100
_LARGEST_VALUE: Final = 64 * 1024
_LONGEST_TEXT: Final = 256 * 1024
_APPEND_WEIGHT: Final = 1024 * 1024


class SessionSink:
    """The sink of one execution.

    Attributes:
        items: what the execution has reported so far.
        asks: what it has asked.
    """

    def __init__(
        self,
        parts: EngineParts,
        spec: SessionSpec,
        *,
        items: ItemBook,
        asks: AskBook,
        on_signal: Callable[[Signal], None],
        on_trouble: Callable[[SpacedError], None],
    ) -> None:
        """Begin with nothing reported.

        Args:
            on_signal: told what decides about the turn, after all before it is recorded.
            on_trouble: told that something could not be recorded.
        """
        self.items = items
        self.asks = asks
        self._parts = parts
        self._spec = spec
        self._on_signal = on_signal
        self._on_trouble = on_trouble
        self._order = asyncio.Lock()
        self._backlog = Changes()
        self._info: dict[str, object] = {}
        self._usage: JsonObject | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._is_closed = False

    async def report(self, update: Update) -> None:
        """Take an update; returns when it is safe."""
        async with self._order:
            if self._is_closed:
                self._refuse()
                return
            try:
                await self._take(update)
            except SpacedError as error:  # such as no space for a blob
                self._on_trouble(error)

    def close(self) -> None:
        """Take nothing more; what comes now is refused."""
        self._is_closed = True
        if self._ticking is not None:
            self._ticking.cancel()

    async def _take(self, update: Update) -> None:
        match update:
            case TextAppended():
                await self._record(self.items.append(self._cleaned(update), now=self._now))
            case ItemUpserted():
                await self._take_item(update)
            case UnknownReport():
                await self._record(self.items.note(update, now=self._now))
            case SessionInfoChanged(info=info):
                self._info.update(storable_object(info))
                self._tick_later()
            case UsageChanged(usage=usage):
                self._usage = storable_object(usage)
                self._tick_later()
            case TurnFinished() | PromptNotTaken() | ExecutionFinished() | AgentRetrying():
                self._on_signal(storable_signal(update))
            case _:
                await self._take_decision(update)

    async def _take_decision(self, update: "_Decided") -> None:
        match update:
            case PermissionWanted():
                grants = await self.asks.grants_for(update)
                await self._in_queue(lambda held: self.asks.want(held, update, grants))
            case QuestionWanted():
                await self._in_queue(lambda held: self.asks.question(held, update))
            case AskWithdrawn(ask_id=ask_id):
                await self._in_queue(lambda held: self.asks.withdraw(held, ask_id))
            case ContinuityChanged(continuity=continuity):
                await self._in_queue(lambda held: self._continue_with(held, continuity))
            case ConversationLost(message=message):
                await self._in_queue(lambda held: self._lose(held, message))
            case ConversationReplayed(entries=entries):
                await self._in_queue(lambda held: self._compare(held, entries))
        if isinstance(update, PermissionWanted | QuestionWanted | AskWithdrawn):
            self._on_signal(update)

    async def _take_item(self, update: ItemUpserted) -> None:
        item = await self._without_bulk(storable_object(update.item))
        changes = self.items.upsert(
            ItemUpserted(
                source=update.source, item=item, turn_id=update.turn_id, round=update.round
            ),
            now=self._now,
        )
        await self._record(changes)
        if "arguments" in item and self.asks.has_any:
            item_id = self.items.item_id(update.source)
            await self._in_queue(lambda held: self.asks.compare(held, item_id, item))

    def _cleaned(self, update: TextAppended) -> TextAppended:
        """Let what opens an item pass the door; of an item that is open it is not looked at."""
        if update.opens_with is None or self.items.item_id(update.source) is not None:
            return update
        return replace(update, opens_with=storable_object(update.opens_with))

    @property
    def _now(self) -> Timestamp:
        return self._parts.clock.now()

    async def _without_bulk(self, item: dict[str, object]) -> dict[str, object]:
        """Move what is large and no text to read into blobs."""
        for name, value in item.items():
            if isinstance(value, str):
                if name != "arguments" or len(value) <= _LONGEST_TEXT:
                    continue
                stored: object = value
            elif value is None or isinstance(value, (bool, int, float)):
                continue
            else:
                stored = value
            body = stored.encode() if isinstance(stored, str) else msgspec.json.encode(stored)
            if len(body) > _LARGEST_VALUE:
                blob = {"blob": await self._parts.storage.put_blob(body), "bytes": len(body)}
                is_text = isinstance(stored, str)
                item[name] = msgspec.json.encode(blob).decode() if is_text else blob
        return item

    async def _record(self, changes: Changes) -> None:
        for delta in changes.deltas:
            self._parts.announcements.announce(
                TextDelta(
                    run_id=self._spec.run_id,
                    session_id=self._spec.session_id,
                    item_id=delta.item_id,
                    field=delta.field,
                    offset=delta.offset,
                    text=delta.text,
                )
            )
        self._backlog.add(changes)
        if not self._backlog.is_written:
            await self._in_queue(None)
        if not self.items.is_safe:
            self._tick_later()

    async def _in_queue(self, decide: "_Decide | None") -> None:
        """Write what is due, and what is decided while the run is held."""
        await self._parts.tasks.finish(
            self._write(decide), name=f"record of {self._spec.session_id}"
        )

    async def _write(self, decide: "_Decide | None") -> None:
        try:
            async with self._parts.queues.hold(self._spec.run_id) as held:
                session = held.session(self._spec.session_id)
                if session is None or session.is_deleted or held.run.is_deleted:
                    self._refuse()
                    return
                await self.write_backlog(held)
                if decide is not None:
                    await self._append(held, await decide(held), [])
            self.asks.deliver()
        except StreamPurged:
            self.asks.forget_settled()
            self._refuse()
        except (CorruptStream, InvalidBody, KeyTaken) as error:
            # A fault of ours or of the disk: writing it again would fail again.
            log.exception("a report could not be recorded", extra={"event": "report-dropped"})
            self._backlog = Changes()
            self.asks.forget_settled()
            self._on_trouble(error)
        except StorageError as error:
            self.asks.forget_settled()
            self._on_trouble(error)

    async def write_backlog(self, held: HeldRun) -> None:
        """Write all that is due, in pieces that an append can hold."""
        while not self._backlog.is_written:
            events, weight = 0, 0
            while events < len(self._backlog.events) and weight < _APPEND_WEIGHT:
                weight += _weight(self._backlog.events[events])
                events += 1
            is_last = events == len(self._backlog.events)
            rows = list(self._backlog.rows) if is_last else []
            await self._append(held, self._backlog.events[:events], rows)
            # Meanwhile a report may have added more; what was written is the beginning.
            del self._backlog.events[:events]
            del self._backlog.rows[: len(rows)]

    async def _append(self, held: HeldRun, events: list[Event], rows: list[RowWrite]) -> None:
        if events or rows:
            await held.append(about(self._spec.session_id, *events), own_rows=rows)

    def forget_backlog(self) -> None:
        """Give up what cannot be written, so that an end can be."""
        self._backlog = Changes()

    def last_words(self, changes: Changes, session: Session) -> Changes:
        """Return what an ending writes: what is left here, and the changes that it brings."""
        left, self._backlog = self._backlog, Changes()
        left.add(changes)
        left.events += self._due_data(session)
        return left

    async def _due(self, held: HeldRun) -> list[Event]:
        return self._due_data(self._session(held))

    def _due_data(self, session: Session) -> list[Event]:
        if not self._info and self._usage is None:
            return []
        data = dict(session.data)
        if self._info:
            known = data.get("info")
            data["info"] = {**(known if isinstance(known, Mapping) else {}), **self._info}
        if self._usage is not None:
            data["usage"] = self._usage
        self._info, self._usage = {}, None
        return [] if data == session.data else [AgentSessionDataUpdated(data=data)]

    async def _continue_with(self, held: HeldRun, continuity: JsonObject) -> list[Event]:
        session = self._session(held)
        if session.data.get("continuity") == continuity:
            return []
        data = {**session.data, "continuity": storable_object(continuity)}
        return [AgentSessionDataUpdated(data=data)]

    async def _lose(self, held: HeldRun, message: str) -> list[Event]:
        session = self._session(held)
        generation = session.generation + 1
        changes = self.items.notice(
            "conversation-lost", {"message": message}, turn_id=None, now=self._now
        )
        self.items.begin_generation(generation)
        data = {key: value for key, value in session.data.items() if key != "continuity"}
        return [
            SessionReset(generation=generation, reason="lost"),
            AgentSessionDataUpdated(data=data),
            *changes.events,
        ]

    async def _compare(self, held: HeldRun, entries: Sequence[JsonObject]) -> list[Event]:
        """Compare what an agent remembers with the log, and tell how they differ, if they do."""
        session_id = self._spec.session_id
        page = await newest_items(self._parts.storage, session_id, limit=_COMPARED)
        # A turn is shown before its agent is there; of that one it knows nothing yet.
        turn = held.open_turn(session_id)
        ours = [item for item in page.items if turn is None or item.get("turn_id") != turn.id]
        found = compare(ours, entries)
        if found.verdict == "same":
            return []
        if found.verdict == "forgotten":
            return await self._lose(held, "The agent told of an empty conversation.")
        details = {"verdict": found.verdict, "missing": found.missing, "more": found.more}
        notice = self.items.notice("agent-memory-differs", details, turn_id=None, now=self._now)
        return list(notice.events)

    def _session(self, held: HeldRun) -> Session:
        session = held.session(self._spec.session_id)
        if session is None:
            raise CorruptStream(f"the session {self._spec.session_id!r} has gone from its run")
        return session

    def _tick_later(self) -> None:
        if self._ticking is None and not self._is_closed:
            name = f"tick of {self._spec.session_id}"
            self._ticking = self._parts.tasks.start(self._tick(), name=name)

    async def _tick(self) -> None:
        try:
            while not await self._is_safe_after_a_second():
                pass
        finally:
            self._ticking = None

    async def _is_safe_after_a_second(self) -> bool:
        await self._parts.clock.sleep(TICK_MS)
        async with self._order:
            if self._is_closed:
                return True
            self._backlog.add(self.items.tick(self._now))
            await self._in_queue(self._due)
            return self.items.is_safe

    def _refuse(self) -> None:
        self._parts.counters["refused reports"] += 1
        log.info(
            "a report about %s came too late and was refused",
            self._spec.session_id,
            extra={"event": "report-refused", "session_id": self._spec.session_id},
        )


_Decided: TypeAlias = (
    PermissionWanted
    | QuestionWanted
    | AskWithdrawn
    | ContinuityChanged
    | ConversationLost
    | ConversationReplayed
)
_Decide: TypeAlias = Callable[[HeldRun], Awaitable[list[Event]]]


def _weight(event: Event) -> int:
    if isinstance(event, AgentItemTextAppended):
        return len(event.text)
    return _LONGEST_TEXT
