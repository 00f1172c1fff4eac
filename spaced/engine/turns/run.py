"""Runs one turn: a state machine that takes one message after the other until the turn is over.

It connects the agent if nobody is, hands the prompts over, and waits. Whatever happens meanwhile
comes as a message: what the agent says, a steer, an interrupt, a clock. So two of them never meet
in the middle of a decision, and the one that comes first wins.
"""

import logging
from collections.abc import Callable
from typing import Literal

from spaced.domain.problem import Problem
from spaced.engine.executions import Executions, LiveExecution
from spaced.engine.live_status import BUSY, STARTING, LiveStatus
from spaced.engine.parts import EngineParts
from spaced.engine.recording.signals import Signal
from spaced.engine.turns.dispatch import BegunTurn, TurnDispatch
from spaced.engine.turns.ending import Ending, TurnEnder
from spaced.engine.turns.messages import (
    AsksChanged,
    Due,
    HandedOver,
    Interrupt,
    InterruptCause,
    Mailbox,
    Message,
    NotHandedOver,
    Opened,
    OpenFailed,
    Reported,
    Stop,
    Unwritable,
    Woken,
)
from spaced.engine.turns.opening import TurnOpening
from spaced.engine.turns.retries import TurnRetries
from spaced.engine.turns.steering import TurnSteering
from spaced.engine.turns.timers import TurnTimers
from spaced.errors import SpacedError
from spaced.refusals import Refused
from spaced.runtime.updates import (
    AgentRetrying,
    AskWithdrawn,
    ExecutionFinished,
    PermissionWanted,
    PromptNotTaken,
    QuestionWanted,
    TurnFinished,
)

log = logging.getLogger(__name__)

Phase = Literal["booting", "running", "retrying", "interrupting", "over"]


class TurnRun:
    """One turn from its beginning to its end."""

    def __init__(
        self,
        parts: EngineParts,
        executions: Executions,
        turn: BegunTurn,
        mailbox: Mailbox,
        show: Callable[[LiveStatus], None],
        *,
        attempts: int = 0,
    ) -> None:
        """Prepare the turn.

        Args:
            mailbox: where everybody puts what the turn has to know.
            show: called with each new live status.
            attempts: how often its prompts were handed over before.
        """
        self._parts = parts
        self._executions = executions
        self._turn = turn
        self._mailbox = mailbox
        self._show = show
        self._ender = TurnEnder(parts, executions, turn.run_id, turn.session_id)
        self._timers = TurnTimers(parts, mailbox)
        self._steering = TurnSteering(
            parts,
            mailbox,
            run_id=turn.run_id,
            session_id=turn.session_id,
            turn_id=turn.id,
        )
        self._phase: Phase = "booting"
        self._cause: InterruptCause | None = None
        self._is_stopping = False
        self._dispatching = TurnDispatch(parts, turn, mailbox)
        self._retries = TurnRetries(parts, turn, attempts=attempts)
        self._opening = TurnOpening(
            parts, executions, mailbox, run_id=turn.run_id, session_id=turn.session_id
        )
        self._live: LiveExecution | None = None

    async def run(self) -> None:
        """Run the turn; when this returns it is over, and the log says how it ended."""
        await self._boot()
        await self._until_over()

    async def resume(self, live: LiveExecution) -> None:
        """Go on with a turn that outlived the daemon."""
        self._live = live
        self._phase = "running"
        await self._show_asks()
        await self._until_over()

    def listen_to(self, live: LiveExecution) -> None:
        """Take what an execution reports from now on."""
        live.hear = lambda signal: self._mailbox.put(Reported(signal=signal))
        live.worry = lambda error: self._mailbox.put(Unwritable(error=error))

    async def _until_over(self) -> None:
        try:
            while self._phase != "over":
                await self._take(await self._mailbox.get())
        finally:
            self._timers.stop_all()
            self._opening.cancel()
            self._dispatching.cancel()

    async def _take(self, message: Message) -> None:
        match message:
            case Opened(live=live):
                self._use(live)
                await self._dispatch()
            case OpenFailed(error=error):
                await self._fail_to_open(error)
            case HandedOver():
                await self._steer()
            case NotHandedOver(message=text, is_certain=is_certain):
                await self._fail_to_hand_over(text, is_certain)
            case Reported(signal=signal):
                await self._hear(signal)
            case Unwritable(error=error):
                await self._give_up(error)
            case Woken():
                await self._steer()
            case AsksChanged():
                await self._show_asks()
            case Interrupt() | Due() | Stop():
                await self._take_time(message)

    async def _take_time(self, message: Interrupt | Due | Stop) -> None:
        match message:
            case Interrupt(cause=cause):
                await self._interrupt(cause)
            case Due(what="retry"):
                await self._retry()
            case Due():
                await self._kill()
            case Stop(is_grace_over=is_over):
                await self._stop(is_over)

    async def _boot(self) -> None:
        self._show(STARTING)
        live = self._executions.live(self._turn.session_id)
        if live is not None and live.connection is not None:
            self._use(live)
            await self._dispatch()
            return
        self._opening.start()

    def _use(self, live: LiveExecution) -> None:
        self._live = live
        self.listen_to(live)

    async def _dispatch(self) -> None:
        """Hand the prompts over; what was recorded before is never handed over a second time."""
        live = self._connected()
        assert live.connection is not None
        try:
            await self._dispatching.start(live, live.connection)
        except SpacedError as error:
            await self._give_up(error)
            return
        self._retries.count()
        self._phase = "running"
        self._show(BUSY)

    async def _fail_to_hand_over(self, message: str, is_certain: bool) -> None:
        if is_certain or self._phase == "interrupting":
            await self._not_taken(message, None)
            return
        remedy = "Report this to the author of the runtime."
        problem = Problem(code="runtime-fault", message=message, remedy=remedy)
        await self._end(Ending(outcome="failed", problem=problem, execution_reason="fault"))

    async def _hear(self, signal: Signal) -> None:
        match signal:
            case ExecutionFinished():
                await self._lose_execution(signal)
            case PermissionWanted() | QuestionWanted() | AskWithdrawn():
                await self._show_asks()
            case _ if signal.turn_id != self._turn.id:
                return  # about a turn that is over; its end was recorded before
            case TurnFinished():
                await self._finish(signal)
            case PromptNotTaken(message=message, after_ms=after_ms):
                await self._not_taken(message, after_ms)
            case AgentRetrying(attempt=attempt, message=message, next_in_ms=next_in):
                next_at = None if next_in is None else self._parts.clock.now() + next_in
                self._show(
                    LiveStatus(word="retry", attempt=attempt, message=message, next_at=next_at)
                )

    async def _finish(self, report: TurnFinished) -> None:
        self._parts.reach("turn-reported")
        outcome = report.outcome
        if self._phase == "interrupting" and self._is_stopping and outcome == "interrupted":
            await self._end(Ending(outcome="daemon-stopped", stop_reason=report.stop_reason))
            return
        await self._end(
            Ending(
                outcome=outcome,
                stop_reason=report.stop_reason,
                usage=report.usage,
                problem=report.problem,
                cause=self._cause if outcome == "interrupted" else None,
            )
        )

    async def _not_taken(self, message: str, after_ms: int | None) -> None:
        if self._phase == "interrupting":
            await self._end(Ending(outcome="interrupted", cause=self._cause))
            return
        try:
            following = await self._retries.record_next(message, after_ms)
        except SpacedError as error:
            await self._give_up(error)
            return
        if following is None:
            problem = self._retries.exhausted(message)
            await self._end(Ending(outcome="failed", problem=problem))
            return
        self._parts.reach("retry-recorded")
        self._phase = "retrying"
        self._show(
            LiveStatus(
                word="retry", attempt=following.number, message=message, next_at=following.at
            )
        )
        self._timers.start("retry", following.delay_ms)

    async def _retry(self) -> None:
        if self._phase != "retrying":
            return
        live = self._executions.live(self._turn.session_id)
        if live is None or live.connection is None:
            await self._boot()
        else:
            await self._dispatch()

    async def _lose_execution(self, report: ExecutionFinished) -> None:
        if self._phase == "retrying":
            # The agent has nothing of this turn; the next attempt opens another connection.
            self._executions.rest(self._connected())
            self._connected().hear(report)
            self._live = None
            return
        is_wanted = self._phase == "interrupting"
        problem = None if is_wanted else report.problem or _crashed(report.reason)
        outcome: Literal["interrupted", "failed"] = "interrupted" if is_wanted else "failed"
        await self._end(
            Ending(
                outcome=outcome,
                problem=problem,
                cause=self._cause,
                execution_reason=report.reason,
                execution_details=report.details,
            )
        )

    async def _fail_to_open(self, error: SpacedError) -> None:
        await self._end(
            Ending(
                outcome="failed" if self._retries.has_begun else "not-dispatched",
                problem=Problem.of(error),
            )
        )

    async def _interrupt(self, cause: InterruptCause) -> None:
        if self._phase == "interrupting":
            await self._kill()
            return
        was, self._phase, self._cause = self._phase, "interrupting", cause
        if was == "retrying":
            await self._end(Ending(outcome="interrupted", cause=cause))
        elif was == "booting":
            await self._opening.give_up()
            await self._end(Ending(outcome=self._unfinished_outcome, cause=cause))
        else:
            await self._ask_to_stop()

    async def _ask_to_stop(self) -> None:
        live = self._connected()
        graces = (
            live.spec.profile.cancel_grace_ms,
            live.runtime.capabilities.cancel_grace_ms,
            self._parts.settings.cancel_grace_ms,
        )
        self._timers.start("kill", next(grace for grace in graces if grace is not None))

        async def ask() -> None:
            if live.connection is not None:
                await live.connection.interrupt(self._turn.id)

        # In a task: an agent that ignores it must not keep the turn from being killed.
        self._parts.tasks.start(ask(), name=f"interrupt of {self._turn.id}")

    async def _kill(self) -> None:
        if self._phase != "interrupting":
            return
        outcome: Literal["daemon-stopped", "interrupted"] = (
            "daemon-stopped" if self._is_stopping else "interrupted"
        )
        await self._end(Ending(outcome=outcome, cause=self._cause, execution_reason="killed"))

    async def _give_up(self, error: SpacedError) -> None:
        """End a turn that cannot be recorded any more: the agent must not go on unseen."""
        is_ours = not isinstance(error, Refused)  # a deletion in mid-turn is nobody's fault
        log.log(
            logging.ERROR if is_ours else logging.INFO,
            "a turn of %s is interrupted: %s",
            self._turn.session_id,
            error,
            extra={"event": "turn-unwritable", "turn_id": self._turn.id},
        )
        await self._end(
            Ending(
                outcome=self._unfinished_outcome,
                problem=Problem.of(error),
                execution_reason="unwritable",
            )
        )

    async def _stop(self, is_grace_over: bool) -> None:
        self._is_stopping = True
        if not is_grace_over:
            return
        if self._phase == "booting":
            self._phase = "interrupting"
            await self._opening.give_up()
            is_new = not self._retries.has_begun
            await self._end(Ending(outcome="not-dispatched" if is_new else "daemon-stopped"))
            return
        self._phase = "interrupting"
        await self._kill()

    async def _steer(self) -> None:
        live = self._live
        if self._phase != "running" or live is None or live.connection is None:
            return
        self._steering.hand_in(live, live.connection)

    async def _show_asks(self) -> None:
        if self._phase != "running":
            return
        async with self._parts.queues.hold(self._turn.run_id) as held:
            asks = held.open_asks(self._turn.session_id)
        mine = tuple(ask.id for ask in asks if ask.turn_id == self._turn.id)
        self._show(LiveStatus(word="waiting", ask_ids=mine) if mine else BUSY)

    async def _end(self, ending: Ending) -> None:
        self._timers.stop_all()
        self._dispatching.cancel()
        await self._steering.settle()
        await self._ender.end(self._turn.id, self._live, ending)
        if self._live is not None:
            self._executions.rest(self._live)
        self._phase = "over"
        self._parts.reach("turn-ended")

    @property
    def _unfinished_outcome(self) -> Literal["interrupted", "not-dispatched"]:
        return "interrupted" if self._retries.has_begun else "not-dispatched"

    def _connected(self) -> LiveExecution:
        assert self._live is not None
        return self._live


def _crashed(reason: str) -> Problem:
    return Problem(
        code="agent-gone",
        message=f"the agent's connection ended in the middle of the turn: {reason}",
        remedy="Send a new prompt; a new connection is made for it.",
    )
