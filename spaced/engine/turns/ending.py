"""Ends turns: all that belongs to an end is recorded in one piece, as soon as there is space.

Before that, whatever the execution is to be stopped for is stopped: once the log says that a turn
is over, nothing of it goes on.
"""

import logging
from dataclasses import dataclass

from spaced.clock import to_rfc3339
from spaced.domain.events.event import Event
from spaced.domain.events.prompt import QueuePaused
from spaced.domain.events.transcript import AgentItemAppended
from spaced.domain.events.turn import TurnOutcome
from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem
from spaced.domain.session import Session
from spaced.domain.turn_decisions import end_turn, ending_item, return_prompts
from spaced.engine.executions import Executions, LiveExecution
from spaced.engine.held_run import HeldRun, about
from spaced.engine.parts import EngineParts
from spaced.engine.recording.changes import Changes
from spaced.engine.waiting import until_written
from spaced.errors import (
    AppendTooLarge,
    CorruptStream,
    InvalidBody,
    KeyTaken,
    SpacedError,
    StreamPurged,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a turn ended; the fields of `turn-ended`, and more.

    Attributes:
        execution_reason: set if the execution ends with the turn, and why.
    """

    outcome: TurnOutcome
    stop_reason: str | None = None
    usage: JsonObject | None = None
    problem: Problem | None = None
    cause: str | None = None
    execution_reason: str | None = None
    execution_details: JsonObject | None = None


class TurnEnder:
    """Ends the turns of one session."""

    def __init__(
        self, parts: EngineParts, executions: Executions, run_id: str, session_id: str
    ) -> None:
        self._parts = parts
        self._executions = executions
        self._run_id = run_id
        self._session_id = session_id

    async def end(self, turn_id: str, live: LiveExecution | None, ending: Ending) -> None:
        """End a turn, and its execution if that is to end with it."""
        if live is not None and ending.execution_reason is not None:
            await self._executions.silence(live, grace_ms=0)
            self._parts.reach("execution-stopped")
        if live is not None:
            live.sink.asks.end_turn(turn_id)
        closing = self._closing(turn_id, live, ending)
        try:
            await until_written(self._parts, lambda: self._write(turn_id, live, ending, closing))
        except (InvalidBody, AppendTooLarge, CorruptStream, KeyTaken) as error:
            await self._end_barely(turn_id, live, ending, error)

    async def _end_barely(
        self, turn_id: str, live: LiveExecution | None, ending: Ending, error: SpacedError
    ) -> None:
        """End a turn whose end cannot be written as it was reported: it must end all the same."""
        log.error(
            "the end of %s cannot be written as it was reported: %s",
            turn_id,
            error,
            extra={"event": "ending-unwritable", "turn_id": turn_id},
        )
        if live is not None:
            live.sink.forget_backlog()
        outcome: TurnOutcome = "not-dispatched" if ending.outcome == "not-dispatched" else "failed"
        bare = Ending(
            outcome=outcome, problem=Problem.of(error), execution_reason=ending.execution_reason
        )
        await until_written(self._parts, lambda: self._write(turn_id, live, bare, Changes()))

    def _closing(self, turn_id: str, live: LiveExecution | None, ending: Ending) -> Changes:
        if live is None:
            return Changes()
        now = self._parts.clock.now()
        if ending.execution_reason is not None:
            return live.sink.items.end_execution(now)
        is_completed = ending.outcome == "completed"
        return live.sink.items.end_turn(turn_id, is_completed=is_completed, now=now)

    async def _write(
        self, turn_id: str, live: LiveExecution | None, ending: Ending, closing: Changes
    ) -> None:
        async with self._parts.queues.hold(self._run_id) as held:
            session = held.session(self._session_id)
            turn = held.open_turn(self._session_id)
            is_gone = session is None or session.is_deleted or held.run.is_deleted
            if is_gone or session is None or turn is None or turn.id != turn_id:
                return  # whoever deleted the session has ended the turn as well
            left = Changes(events=list(closing.events), rows=list(closing.rows))
            if live is not None:
                await live.sink.write_backlog(held)
                left = live.sink.last_words(left, session)
            events = [*left.events, *self._ended(held, session, turn_id, live, ending)]
            try:
                await held.append(about(session.id, *events), own_rows=left.rows)
            except StreamPurged:
                return
            held.forget_items()

    def _ended(
        self,
        held: HeldRun,
        session: Session,
        turn_id: str,
        live: LiveExecution | None,
        ending: Ending,
    ) -> list[Event]:
        turn = held.open_turn(session.id)
        assert turn is not None
        events: list[Event] = [*self._noted(turn_id, ending)]
        if ending.outcome == "not-dispatched":
            events += return_prompts(held.promoted(session.id), turn_id)
            events += self._paused(session, ending)
        asks = held.open_asks(session.id)
        if live is not None and ending.execution_reason is not None:
            events += self._executions.ending(
                live,
                [ask for ask in asks if ask.turn_id != turn_id],
                reason=ending.execution_reason,
                problem=ending.problem,
                details=ending.execution_details,
            )
        events += end_turn(
            turn,
            session,
            [ask for ask in asks if ask.turn_id == turn_id],
            outcome=ending.outcome,
            stop_reason=ending.stop_reason,
            usage=ending.usage,
            problem=ending.problem,
            cause=ending.cause,
        )
        return events

    def _paused(self, session: Session, ending: Ending) -> list[Event]:
        """Keep what was returned from beginning at once what somebody stopped, or what failed."""
        if session.is_queue_paused:
            return []
        if ending.problem is not None:
            return [QueuePaused(reason="not-dispatched")]
        return [QueuePaused(reason="interrupt")] if ending.cause == "person" else []

    def _noted(self, turn_id: str, ending: Ending) -> list[Event]:
        """Return the item that tells a reader of the transcript how the turn ended."""
        created_at = to_rfc3339(self._parts.clock.now())
        item = ending_item(
            self._parts.ids.new("itm"),
            turn_id,
            created_at,
            outcome=ending.outcome,
            problem=ending.problem,
            cause=ending.cause,
        )
        return [] if item is None else [AgentItemAppended(item=item)]
