"""A start after anything: what an earlier life of the daemon left open is continued or closed.

Only unfinished work is read, by index, so a start costs the same at any length of the log. An agent
that outlived the daemon is taken up again if its runtime can; of all others nothing is left before
their sessions may begin another execution. What was handed over once is never handed over again.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from spaced.clock import to_rfc3339
from spaced.domain.ask import Ask
from spaced.domain.events.ask import PermissionAnswered, QuestionAnswered
from spaced.domain.events.event import Event
from spaced.domain.events.transcript import AgentItemAppended, AgentItemUpserted
from spaced.domain.execution import Execution
from spaced.domain.json_values import JsonObject
from spaced.domain.recovery import LeftOver, Tail, abandon, give_back, go_on, tail_events
from spaced.domain.turn import RecordedTurn
from spaced.engine.coordinator import Coordinator, Drain
from spaced.engine.executions import Executions, LiveExecution
from spaced.engine.held_run import HeldRun, about
from spaced.engine.parts import EngineParts
from spaced.engine.profiles import Profiles
from spaced.engine.recording.ask_book import answer_of
from spaced.engine.recording.item_book import REMEMBERED
from spaced.engine.transcripts import newest_items
from spaced.engine.turns.dispatch import BegunTurn
from spaced.engine.turns.messages import Mailbox
from spaced.engine.turns.run import TurnRun
from spaced.engine.waiting import until_written, within
from spaced.errors import CorruptStream, SpacedError, StorageFull
from spaced.log.fact import fact_of
from spaced.log.fold import fold_transcript
from spaced.log.read_models.catalogue import OPEN_TAIL
from spaced.log.read_models.lives import ASKS, EXECUTIONS, PROMPTS, TURNS
from spaced.log.read_models.open_items import OPEN_ITEM
from spaced.log.table import DeleteRow, Row
from spaced.runtime.processes.supervisor import ProcessSupervisor

log = logging.getLogger(__name__)

_CLOSED_AT_ONCE: Final = 64

BEFORE_LISTENERS_MS: Final = 100
"""What a start waits for agents that outlived the daemon before it serves clients."""


@dataclass(slots=True)
class _Session:
    """What is left open in one session."""

    run_id: str
    session_id: str
    executions: list[Execution] = field(default_factory=list)
    turn: RecordedTurn | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What a start found.

    Attributes:
        abandoned: how many turns were closed since their agents are gone.
        reattached: how many executions go on.
        killed: how many processes were left and are gone.
        damaged: the sessions that could not be looked after; the daemon's log says why.
    """

    abandoned: int
    reattached: int
    killed: int
    damaged: Sequence[str]


class Recovery:
    """Looks after what an earlier life of the daemon left."""

    def __init__(
        self,
        parts: EngineParts,
        executions: Executions,
        coordinator: Coordinator,
        profiles: Profiles,
        processes: ProcessSupervisor,
    ) -> None:
        self._parts = parts
        self._executions = executions
        self._coordinator = coordinator
        self._profiles = profiles
        self._processes = processes
        self._damaged: list[str] = []
        self._abandoned = 0
        self._reattached = 0
        self._killed = 0
        self._sweeping = asyncio.Lock()
        self._next_sweep: asyncio.Task[None] | None = None

    async def run(self) -> Recovered:
        """Continue or close everything that is open, then let the sessions go on."""
        found = await self._find()
        alive = await self._prepare(found)
        keep = [live.id for live in alive.values()]
        self._killed = await self._processes.kill_left_over(keep=keep)
        self._parts.reach("left-overs-killed")
        trying = [self._begin_reattaching(found[name], live) for name, live in alive.items()]
        await self._close_all([s for s in found.values() if s.session_id not in alive])
        await self._take_up(trying)
        await self._wake_pending()
        return Recovered(
            abandoned=self._abandoned,
            reattached=self._reattached,
            killed=self._killed,
            damaged=tuple(self._damaged),
        )

    async def _find(self) -> dict[str, _Session]:
        found: dict[str, _Session] = {}

        def session_of(row: Row) -> _Session:
            name = str(row["session_id"])
            return found.setdefault(name, _Session(str(row["stream"]), name))

        for row in await self._open(TURNS.table.name, "open"):
            session_of(row).turn = TURNS.state_of(row)
        for row in await self._open(EXECUTIONS.table.name, "open"):
            session_of(row).executions.append(EXECUTIONS.state_of(row))
        for row in (await self._parts.storage.list_rows(OPEN_ITEM.name)).rows:
            session_of(row)
        for row in await self._open(ASKS.table.name, "open"):
            if row["session_id"] not in found and ASKS.state_of(row).kind == "permission":
                session_of(row)
        return found

    async def _open(self, table: str, status: str) -> Sequence[Row]:
        where = {"status": status}
        return (await self._parts.storage.list_rows(table, where=where, order="unfinished")).rows

    async def _prepare(self, found: dict[str, _Session]) -> dict[str, LiveExecution]:
        """Return, by session, the executions that may have outlived the daemon."""
        alive: dict[str, LiveExecution] = {}
        for session in found.values():
            if not session.executions:
                continue
            try:
                live = await self._executions.prepare(session.run_id, session.executions[-1])
            except SpacedError as error:
                log.info("no agent of %s is looked for: %s", session.session_id, error)
                continue
            if live is not None:
                alive[session.session_id] = live
        return alive

    def _begin_reattaching(self, session: _Session, live: LiveExecution) -> asyncio.Event:
        """Try to find an agent again; the event is set once it is known whether it is there."""
        settled = asyncio.Event()
        drain = self._coordinator.adopt(session.run_id, session.session_id)
        drain.mailbox = Mailbox()

        async def reattach() -> None:
            try:
                going_on = await self._resume(session, live, drain)
                settled.set()
                if going_on is not None:
                    await going_on.resume(live)
            finally:
                # Whatever has failed, the drain looks at the session again and closes what is open.
                settled.set()
                self._coordinator.go_on(drain)

        self._parts.tasks.start(reattach(), name=f"reattaching of {session.session_id}")
        return settled

    async def _take_up(self, trying: Sequence[asyncio.Event]) -> None:
        async def all_settled() -> None:
            for settled in trying:
                await settled.wait()

        if trying:
            await within(self._parts, all_settled, BEFORE_LISTENERS_MS, name="reattaching")

    async def _resume(self, session: _Session, live: LiveExecution, drain: Drain) -> TurnRun | None:
        """Connect an execution again; if it is gone, close what it left."""
        run: TurnRun | None = None
        try:
            await self._adopt(session, live)
            if session.turn is not None:
                run = self._turn_run(session, session.turn, drain)
                run.listen_to(live)
            turn_id = None if session.turn is None else session.turn.id
            await within(
                self._parts,
                lambda: self._executions.reattach(live, turn_id),
                self._parts.settings.reattach_ms,
                name=f"reattaching of {session.session_id}",
            )
            if live.connection is not None:
                self._reattached += 1
                await self._answer_again(session, live)
                return run
        except SpacedError as error:
            log.warning("%s could not be reattached: %s", session.session_id, error)
        except Exception:
            log.exception("a runtime failed to reattach", extra={"event": "runtime-fault"})
        if live.connection is not None or self._processes.children_of(live.id):
            await self._executions.silence(live, grace_ms=0)
        else:
            self._executions.detach(session.session_id)  # the sweep finds what it had before
        await self._sweep()
        await self._close(session)
        return None

    async def _sweep(self) -> None:
        """Kill what is left of executions that are not live; those who ask meanwhile share one."""
        if self._next_sweep is None:
            self._next_sweep = self._parts.tasks.start(self._sweep_alone(), name="sweep")
        await asyncio.shield(self._next_sweep)

    async def _sweep_alone(self) -> None:
        async with self._sweeping:
            self._next_sweep = None
            keep = [live.id for live in self._executions.all()]
            self._killed += await self._processes.kill_left_over(keep=keep)

    def _turn_run(self, session: _Session, turn: RecordedTurn, drain: Drain) -> TurnRun:
        begun = BegunTurn(
            id=turn.id, run_id=session.run_id, session_id=session.session_id, prompts=()
        )
        assert drain.mailbox is not None
        return TurnRun(
            self._parts,
            self._executions,
            begun,
            drain.mailbox,
            lambda status: self._coordinator.show(drain, status),
            attempts=turn.attempts,
        )

    async def _adopt(self, session: _Session, live: LiveExecution) -> None:
        """Give an execution what it had reported before, with what of it was not in the log."""
        async with self._parts.queues.hold(session.run_id) as held:
            items, tails = await self._items(session)
            told = tail_events(items, tails) + self._give_back(held, session)
            rows = [_delete(session, tail) for tail in tails]
            if told or rows:
                await held.append(about(session.session_id, *told), own_rows=rows)
            # Also of turns that are over: an agent that missed how that was taken tells them again.
            newest = await newest_items(self._parts.storage, session.session_id, limit=REMEMBERED)
            items, _ = await self._items(session)
            live.sink.items.adopt([*newest.items, *items])
            live.sink.asks.adopt(held.open_asks(session.session_id))
            live.sink.asks.adopt(await self._answered_asks(session))

    def _give_back(self, held: HeldRun, session: _Session) -> list[Event]:
        """End a turn that was never handed over: the agent that goes on knows nothing of it."""
        state, turn = held.session(session.session_id), session.turn
        if state is None or turn is None or turn.is_dispatched:
            return []
        session.turn = None
        return give_back(turn, state, held.promoted(state.id))

    async def _answer_again(self, session: _Session, live: LiveExecution) -> None:
        """Tell an agent what was answered in its turn: it may have been down when it was told."""
        for ask in await self._answered_asks(session):
            answer = answer_of(ask)
            if live.connection is not None and answer is not None:
                await live.connection.answer(str((ask.source or {}).get("id")), answer)

    async def _answered_asks(self, session: _Session) -> Sequence[Ask]:
        answered = [
            event.ask_id
            for event in await self._events_of_turn(session)
            if isinstance(event, PermissionAnswered | QuestionAnswered)
        ]
        keys = [(ask_id,) for ask_id in answered]
        rows = (await self._parts.storage.get_rows(ASKS.table.name, keys)).rows
        return [ASKS.state_of(row) for row in rows]

    async def _close_all(self, sessions: Sequence[_Session]) -> None:
        """Close many side by side, since each of them waits for the disk; all, whatever fails."""
        for first in range(0, len(sessions), _CLOSED_AT_ONCE):
            some = sessions[first : first + _CLOSED_AT_ONCE]
            outcomes = await asyncio.gather(*map(self._close, some), return_exceptions=True)
            for outcome in outcomes:
                if outcome is not None:
                    raise outcome

    async def _close(self, session: _Session) -> None:
        """Record that nobody goes on with what a session has open."""
        try:
            await self._close_now(session)
        except StorageFull:
            # The daemon has to start all the same: what is there can be read.
            name = f"closing of {session.session_id}"
            self._parts.tasks.start(self._close_later(session), name=name)

    async def _close_now(self, session: _Session) -> None:
        try:
            async with self._parts.queues.hold(session.run_id) as held:
                await self._abandon(held, session)
        except CorruptStream as error:
            log.error("%s is damaged: %s", session.session_id, error)  # noqa: TRY400
            self._damaged.append(session.session_id)

    async def _close_later(self, session: _Session) -> None:
        await until_written(self._parts, lambda: self._close_now(session))
        self._coordinator.wake(session.run_id, session.session_id)

    async def _abandon(self, held: HeldRun, session: _Session) -> None:
        state = held.session(session.session_id)
        if state is None or state.is_deleted or held.run.is_deleted:
            return
        items, tails = await self._items(session)
        left = LeftOver(
            session=state,
            turn=held.open_turn(state.id),
            promoted=held.promoted(state.id),
            executions=held.open_executions(state.id),
            asks=held.open_asks(state.id),
            items=items,
            tails=tails,
        )
        ids, created_at = self._parts.ids, to_rfc3339(self._parts.clock.now())
        events = abandon(left, new_item_id=lambda: ids.new("itm"), created_at=created_at)
        if left.turn is not None and left.turn.is_dispatched:
            self._abandoned += 1
            events += await self._go_on(held, left)
        rows = [_delete(session, tail) for tail in tails]
        if events or rows:
            await held.append(about(state.id, *events), own_rows=rows)
        self._parts.reach("abandoned")

    async def _go_on(self, held: HeldRun, left: LeftOver) -> list[Event]:
        """Tell the agent of the interruption, where its profile says so."""
        try:
            profile = (await self._profiles.get(left.session.agent_id or "")).profile
        except SpacedError:
            return []
        if profile.on_restart != "continue":
            return []
        pending = held.pending(left.session.id)
        return go_on(left.session, pending, prompt_id=self._parts.ids.new("msg"))

    async def _items(self, session: _Session) -> tuple[Sequence[JsonObject], Sequence[Tail]]:
        """Return the items that are open or of the open turn, and the tails of their texts."""
        where = {"session_id": session.session_id}
        storage = self._parts.storage
        opened = (await storage.list_rows(OPEN_ITEM.name, where=where)).rows
        names = dict.fromkeys(str(row["item_id"]) for row in opened)
        for event in await self._events_of_turn(session):
            if isinstance(event, AgentItemAppended | AgentItemUpserted):
                names[str(event.item["id"])] = None
        recorded = await storage.read_stream(
            session.run_id, session_id=session.session_id, item_ids=list(names)
        )
        tails = (await storage.list_rows(OPEN_TAIL.name, where=where)).rows
        return fold_transcript(recorded).items(), [_tail(row) for row in tails]

    async def _events_of_turn(self, session: _Session) -> Sequence[Event]:
        if session.turn is None:
            return []
        recorded = await self._parts.storage.read_stream(
            session.run_id, after=session.turn.started_version, session_id=session.session_id
        )
        return [fact.event for one in recorded if (fact := fact_of(one)) is not None]

    async def _wake_pending(self) -> None:
        waiting: dict[str, str] = {}
        for row in await self._open(PROMPTS.table.name, "pending"):
            waiting[str(row["session_id"])] = str(row["stream"])
        for session_id, run_id in waiting.items():
            self._coordinator.wake(run_id, session_id)


def _tail(row: Row) -> Tail:
    return Tail(
        item_id=str(row["item_id"]),
        field=str(row["field"]),
        offset=int(row["offset"] or 0),
        text=str(row["text"]),
    )


def _delete(session: _Session, tail: Tail) -> DeleteRow:
    return DeleteRow(table=OPEN_TAIL.name, key=(session.session_id, tail.item_id, tail.field))
