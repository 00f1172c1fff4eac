"""Opens and ends executions: the connections through which sessions reach their agents.

An execution is recorded before its runtime is asked, and it ends in the log only when nothing of it
is left: neither a report nor a process.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from spaced.domain.ask import Ask
from spaced.domain.events.ask import AskExpired
from spaced.domain.events.event import Event
from spaced.domain.events.turn import ExecutionEnded, ExecutionOpened
from spaced.domain.execution import Execution
from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem
from spaced.domain.session import Session
from spaced.engine.held_run import HeldRun, about
from spaced.engine.parts import EngineParts
from spaced.engine.profiles import Profiles
from spaced.engine.recording.ask_book import AskBook
from spaced.engine.recording.changes import Changes
from spaced.engine.recording.item_book import ItemBook
from spaced.engine.recording.session_sink import SessionSink
from spaced.engine.recording.signals import Signal
from spaced.engine.runtimes import Runtimes
from spaced.engine.session_commands import living_session
from spaced.engine.session_specs import continuity_of, spec_of
from spaced.engine.waiting import until_written, within
from spaced.errors import RuntimeProblem, SpacedError
from spaced.log.read_models.lives import EXECUTIONS
from spaced.runtime.processes.supervisor import ProcessSupervisor
from spaced.runtime.protocol import AgentConnection, AgentRuntime, AskAnswer, SessionSpec
from spaced.runtime.updates import ExecutionFinished

log = logging.getLogger(__name__)

_SLACK_MS: Final = 1000
"""What a connection's close may take beyond its grace, before its processes are killed."""


@dataclass(slots=True, kw_only=True, eq=False)
class LiveExecution:
    """An execution that this process serves.

    Attributes:
        hear: told what decides about the turn; changes with who runs one.
        worry: told that something could not be recorded.
        connection: the agent; absent until it is open.
    """

    spec: SessionSpec
    runtime: AgentRuntime
    sink: SessionSink = field(init=False)
    connection: AgentConnection | None = None
    hear: Callable[[Signal], None] = field(init=False)
    worry: Callable[[SpacedError], None] = field(init=False)

    @property
    def id(self) -> str:
        """The execution's id."""
        return self.spec.execution_id

    def pass_on_signal(self, signal: Signal) -> None:
        """Tell whoever runs a turn now."""
        self.hear(signal)

    def pass_on_trouble(self, error: SpacedError) -> None:
        """Tell whoever runs a turn now."""
        self.worry(error)


class Executions:
    """The live executions, at most one for each session."""

    def __init__(
        self,
        parts: EngineParts,
        runtimes: Runtimes,
        profiles: Profiles,
        processes: ProcessSupervisor,
    ) -> None:
        self._parts = parts
        self._runtimes = runtimes
        self._profiles = profiles
        self._processes = processes
        self._live: dict[str, LiveExecution] = {}

    def live(self, session_id: str) -> LiveExecution | None:
        """Return the execution that serves a session now."""
        return self._live.get(session_id)

    def all(self) -> Sequence[LiveExecution]:
        """Return every live execution."""
        return tuple(self._live.values())

    async def open(self, run_id: str, session_id: str) -> LiveExecution:
        """Begin an execution and connect the agent.

        Raises:
            RuntimeProblem: the agent cannot be started or reached; what was begun is gone.
            SpacedError: the profile is not there, or it cannot be recorded.
        """
        live, continuity = await self._begin(run_id, session_id)
        try:
            live.connection = await live.runtime.open(live.spec, continuity, live.sink)
        except BaseException as error:
            # Also when the caller gave up: what the runtime began must not stay.
            reason = "open-failed" if isinstance(error, Exception) else "interrupted"
            problem = Problem.of(error) if isinstance(error, SpacedError) else None
            await self._parts.tasks.finish(
                self.end(live, reason=reason, problem=problem), name=f"end of {live.id}"
            )
            if isinstance(error, SpacedError) or not isinstance(error, Exception):
                raise
            log.exception("a runtime failed to open", extra={"event": "runtime-fault"})
            raise RuntimeProblem(f"the runtime {live.spec.profile.runtime!r} failed") from error
        return live

    async def prepare(self, run_id: str, execution: Execution) -> LiveExecution | None:
        """Return an execution of an earlier life of the daemon, if its runtime could find it again.

        Nothing is connected yet; `reattach` does that once somebody listens.
        """
        async with self._parts.queues.hold(run_id) as held:
            session = held.session(execution.session_id)
            if session is None or session.is_deleted or held.run.is_deleted:
                return None
            profile = (await self._profiles.get(session.agent_id or "")).profile
            runtime = self._runtimes.get(execution.runtime)
            can_continue = continuity_of(session, execution.runtime) is not None
            if not runtime.capabilities.reattach or not can_continue:
                return None
            return self._new(
                spec_of(self._parts, held.run, session, profile, execution.id), runtime
            )

    async def reattach(self, live: LiveExecution, turn_id: str | None) -> bool:
        """Connect a prepared execution again; false: there is nothing to connect to."""
        async with self._parts.queues.hold(live.spec.run_id) as held:
            session = held.session(live.spec.session_id)
            continuity = session and continuity_of(session, live.spec.profile.runtime)
        if continuity:
            live.connection = await live.runtime.reattach(live.spec, continuity, live.sink, turn_id)
        return live.connection is not None

    def rest(self, live: LiveExecution) -> None:
        """Let an execution wait for the next turn; if it ends by itself, that is recorded."""
        live.hear = lambda signal: self._hear(live, signal)
        live.worry = _log_trouble

    async def end(
        self,
        live: LiveExecution,
        *,
        reason: str,
        problem: Problem | None = None,
        details: JsonObject | None = None,
        grace_ms: int = 0,
    ) -> None:
        """End an execution: nothing of it is left when this returns, and the log says so."""
        await self.silence(live, grace_ms=grace_ms)
        closing = live.sink.items.end_execution(self._parts.clock.now())

        async def record() -> None:
            async with self._parts.queues.hold(live.spec.run_id) as held:
                ended = self.ending(
                    live,
                    held.open_asks(live.spec.session_id) if held.exists else [],
                    reason=reason,
                    problem=problem,
                    details=details,
                )
                await self._record_end(held, live, closing, ended)

        await until_written(self._parts, record)

    async def append_ending(
        self, held: HeldRun, session: Session, events: Sequence[Event], *, reason: str
    ) -> LiveExecution | None:
        """Record facts about an idle session together with the end of its execution.

        Returns:
            The execution, which is still to be silenced; the next turn gets one of its own.
        """
        live = self._live.pop(session.id, None)
        if live is None:
            await held.append(about(session.id, *events))
            return None
        live.sink.close()
        try:
            await live.sink.write_backlog(held)
            closing = live.sink.items.end_execution(self._parts.clock.now())
            left = live.sink.last_words(closing, session)
            ended = self.ending(live, held.open_asks(session.id), reason=reason)
            told = about(session.id, *left.events, *events, *ended)
            await held.append(told, own_rows=left.rows)
        except BaseException:  # nobody else knows of it any more
            self._parts.tasks.start(self.silence(live, grace_ms=0), name=f"end of {live.id}")
            raise
        return live

    def detach(self, session_id: str) -> None:
        """Forget an execution that has nothing to be silenced."""
        live = self._live.pop(session_id, None)
        if live is not None:
            live.sink.close()

    async def end_all(self, *, reason: str) -> None:
        """End every execution, all at once: each may take its grace."""
        grace_ms = self._parts.settings.stop_grace_ms
        endings = [
            self._parts.tasks.start(
                self.end(live, reason=reason, grace_ms=grace_ms), name=f"end of {live.id}"
            )
            for live in self.all()
        ]
        if endings:
            await asyncio.wait(endings)

    async def silence(self, live: LiveExecution, *, grace_ms: int) -> None:
        """Take no more reports of an execution, close its connection and kill what is left."""
        live.sink.close()
        if self._live.get(live.spec.session_id) is live:
            del self._live[live.spec.session_id]
        if grace_ms == 0:
            # First of all: a runtime that takes its time must not give its processes any.
            await self._processes.stop_execution(live.id, grace_ms=0)
        if live.connection is not None:
            await self._close(live, live.connection, grace_ms)
        await self._processes.stop_execution(live.id, grace_ms=0)

    def log_fault(self, live: LiveExecution, problem: SpacedError) -> None:
        """Log that a connection could not do what it was told, where that changes nothing."""
        log.warning(
            "the agent of %s: %s",
            live.spec.session_id,
            problem,
            extra={"event": "runtime-fault", "execution_id": live.id},
        )

    def ending(
        self,
        live: LiveExecution,
        asks: Sequence[Ask],
        *,
        reason: str,
        problem: Problem | None = None,
        details: JsonObject | None = None,
    ) -> list[Event]:
        """Return what records the end of an execution, without its items.

        A question of a turn that is over stays open: its answer comes as a prompt.
        """
        mine = [
            ask
            for ask in asks
            if (ask.source or {}).get("execution_id") == live.id
            and (ask.kind == "permission" or ask.turn_id is None)
        ]
        return [
            *(AskExpired(ask_id=ask.id, reason="execution-ended") for ask in mine),
            ExecutionEnded(execution_id=live.id, reason=reason, problem=problem, details=details),
        ]

    async def _record_end(
        self, held: HeldRun, live: LiveExecution, closing: Changes, ended: list[Event]
    ) -> None:
        session = held.session(live.spec.session_id)
        is_open = any(e.id == live.id for e in held.open_executions(live.spec.session_id))
        if session is None or session.is_deleted or held.run.is_deleted or not is_open:
            return
        await live.sink.write_backlog(held)
        left = live.sink.last_words(
            Changes(events=list(closing.events), rows=list(closing.rows)), session
        )
        told = about(session.id, *left.events, *ended)
        await held.append(told, own_rows=left.rows)

    async def _begin(self, run_id: str, session_id: str) -> tuple[LiveExecution, JsonObject | None]:
        async with self._parts.queues.hold(run_id) as held:
            session = living_session(held, session_id)
            profile = (await self._profiles.get(session.agent_id or "")).profile
            runtime = self._runtimes.get(profile.runtime)
            spec = spec_of(self._parts, held.run, session, profile, self._parts.ids.new("exe"))
            opened = ExecutionOpened(
                execution_id=spec.execution_id,
                runtime=profile.runtime,
                generation=session.generation,
            )
            held.expect_new(EXECUTIONS.table.name, spec.execution_id)
            await held.append(about(session_id, opened))
        self._parts.reach("execution-recorded")
        return self._new(spec, runtime), continuity_of(session, profile.runtime)

    def _new(self, spec: SessionSpec, runtime: AgentRuntime) -> LiveExecution:
        live = LiveExecution(spec=spec, runtime=runtime)
        items = ItemBook(
            stream=spec.run_id,
            session_id=spec.session_id,
            generation=spec.generation,
            new_id=lambda: self._parts.ids.new("itm"),
        )
        asks = AskBook(
            self._parts, spec, items, lambda ask, answer: self._deliver(live, ask, answer)
        )
        live.sink = SessionSink(
            self._parts,
            spec,
            items=items,
            asks=asks,
            on_signal=live.pass_on_signal,
            on_trouble=live.pass_on_trouble,
        )
        self._live[spec.session_id] = live
        self.rest(live)
        return live

    def _hear(self, live: LiveExecution, signal: Signal) -> None:
        if isinstance(signal, ExecutionFinished):
            ending = self.end(
                live, reason=signal.reason, problem=signal.problem, details=signal.details
            )
            self._parts.tasks.start(ending, name=f"end of {live.id}")

    def _deliver(self, live: LiveExecution, ask_id: str, answer: AskAnswer) -> None:
        # In a task: the runtime waits for its report to be taken, and may take no answer before.
        async def pass_on() -> None:
            if live.connection is not None:
                await live.connection.answer(ask_id, answer)

        self._parts.tasks.start(pass_on(), name=f"answer to {ask_id}")

    async def _close(self, live: LiveExecution, connection: AgentConnection, grace_ms: int) -> None:
        """Close a connection, but wait for it not for ever and whatever it raises."""
        limit_ms = grace_ms + _SLACK_MS
        try:
            done = await within(
                self._parts,
                lambda: connection.close(grace_ms),
                limit_ms,
                name=f"close of {live.id}",
            )
        except Exception:
            log.exception("a connection failed to close", extra={"event": "runtime-fault"})
            return
        if not done:
            log.warning(
                "the connection of %s did not close in time; its processes are killed",
                live.spec.session_id,
                extra={"event": "close-timed-out", "execution_id": live.id},
            )


def _log_trouble(error: SpacedError) -> None:
    log.error("a report outside of any turn is not recorded: %s", error)
