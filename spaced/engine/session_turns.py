"""Says what a session has to do next, and does it: one turn after the other.

The beginning of a turn is decided while the run is held, so whatever was admitted, edited or
interrupted before that counts, and whatever comes after belongs to this turn or to the next.
"""

from collections.abc import Callable

from spaced.clock import to_rfc3339
from spaced.domain.events.event import Event
from spaced.domain.events.transcript import AgentItemAppended
from spaced.domain.events.turn import TurnOutcome
from spaced.domain.problem import Problem
from spaced.domain.prompt import AdmittedPrompt
from spaced.domain.prompt_queue import choose_next
from spaced.domain.run import Run
from spaced.domain.session import Session
from spaced.domain.session_items import event_item
from spaced.domain.turn_decisions import begin_turn, may_begin
from spaced.engine.coordinator import Drain
from spaced.engine.executions import Executions
from spaced.engine.held_run import HeldRun, about
from spaced.engine.live_status import LiveStatus
from spaced.engine.parts import EngineParts
from spaced.engine.turns.dispatch import BegunTurn
from spaced.engine.turns.ending import Ending, TurnEnder
from spaced.engine.turns.messages import Mailbox
from spaced.engine.turns.run import TurnRun
from spaced.engine.workflows.reading import Workflows, instructions_of
from spaced.log.read_models.lives import TURNS


class SessionTurns:
    """Runs the turns of sessions; implements `TurnSource`."""

    def __init__(self, parts: EngineParts, executions: Executions, workflows: Workflows) -> None:
        self._parts = parts
        self._executions = executions
        self._workflows = workflows
        self._folders: dict[str, str] = {}
        self._noticed: set[frozenset[str]] = set()

    async def is_eligible(self, run_id: str, session_id: str) -> bool:
        """Tell whether the session has something to do now."""
        async with self._parts.queues.hold(run_id) as held:
            has_forgotten_turn = held.open_turn(session_id) is not None
            return held.exists and (has_forgotten_turn or bool(_next(held, session_id)))

    async def run_next(self, drain: Drain, show: Callable[[LiveStatus], None]) -> bool:
        """Run the session's next turn to its end; false: there was none to run."""
        mailbox = drain.mailbox = Mailbox()  # first of all: from here on a stop finds whom to tell
        await self._end_forgotten(drain)
        begun = await self._begin(drain, mailbox)
        if begun is None:
            return False
        self._parts.reach("turn-begun")
        try:
            await TurnRun(self._parts, self._executions, begun, mailbox, show).run()
        finally:
            self._folders.pop(drain.session_id, None)
        return True

    async def _end_forgotten(self, drain: Drain) -> None:
        """End a turn that a fault of ours has left open: it would stand in the way for ever."""
        async with self._parts.queues.hold(drain.run_id) as held:
            turn = held.open_turn(drain.session_id)
        if turn is None:
            return
        live = self._executions.live(drain.session_id)
        problem = Problem(
            code="internal-error",
            message="The turn was lost by a fault of spaced.",
            remedy="Report this with the log file of the daemon.",
        )
        outcome: TurnOutcome = "failed" if turn.is_dispatched else "not-dispatched"
        ending = Ending(outcome=outcome, problem=problem, execution_reason="fault")
        ender = TurnEnder(self._parts, self._executions, drain.run_id, drain.session_id)
        await ender.end(turn.id, live, ending)

    async def _begin(self, drain: Drain, mailbox: Mailbox) -> BegunTurn | None:
        async with self._parts.queues.hold(drain.run_id) as held:
            prompts = _next(held, drain.session_id)
            session = held.session(drain.session_id)
            if not prompts or session is None or mailbox.holds_stop:
                return None
            mailbox.clear()  # what it was told was about what came before this turn
            return await self._record(held, session, prompts)

    async def _record(
        self, held: HeldRun, session: Session, prompts: tuple[AdmittedPrompt, ...]
    ) -> BegunTurn:
        run = held.run
        workflow = await self._workflows.newest(run.workflow_id)
        turn_id = self._parts.ids.new("turn")
        held.expect_new(TURNS.table.name, turn_id)
        events = begin_turn(
            run,
            session,
            prompts,
            turn_id=turn_id,
            workflow_version=None if workflow is None else workflow.version,
            new_item_id=lambda: self._parts.ids.new("itm"),
            created_at=to_rfc3339(self._parts.clock.now()),
        )
        events += self._shared_folder(run, session, turn_id)
        await held.append(about(session.id, *events))
        step_id = "" if run.entry is None else run.entry.step_id
        return BegunTurn(
            id=turn_id,
            run_id=run.id,
            session_id=session.id,
            prompts=prompts,
            instructions=instructions_of(workflow, step_id),
        )

    def _shared_folder(self, run: Run, session: Session, turn_id: str) -> list[Event]:
        """Note once that another session is at work in the same folder."""
        folder = session.directory or run.directory
        if folder is None:
            return []
        others = [
            other
            for other, used in self._folders.items()
            if used == folder and frozenset({other, session.id}) not in self._noticed
        ]
        self._folders[session.id] = folder
        if not others:
            return []
        self._noticed.update(frozenset({other, session.id}) for other in others)
        item = event_item(
            self._parts.ids.new("itm"),
            "shared-folder",
            {"directory": folder, "session_ids": others},
            to_rfc3339(self._parts.clock.now()),
            turn_id=turn_id,
        )
        return [AgentItemAppended(item=item)]


def _next(held: HeldRun, session_id: str) -> tuple[AdmittedPrompt, ...]:
    session = held.session(session_id)
    if session is None or not may_begin(held.run, session):
        return ()
    return choose_next(held.pending(session_id), is_paused=session.is_queue_paused)
