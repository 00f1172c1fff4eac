"""Deletes sessions and runs: what was going on ends with them, and nothing of it comes back."""

import logging
from collections.abc import Sequence
from typing import Final

from spaced.clock import Timestamp, to_rfc3339
from spaced.domain.events.ask import AskExpired
from spaced.domain.events.event import Event
from spaced.domain.events.prompt import PromptCancelled
from spaced.domain.events.run import RunDeleted
from spaced.domain.events.session import SessionDeleted
from spaced.domain.events.turn import ExecutionEnded
from spaced.domain.session import Session
from spaced.domain.turn_decisions import end_turn, return_prompts
from spaced.engine.coordinator import Coordinator
from spaced.engine.executions import Executions
from spaced.engine.held_run import HeldRun, about
from spaced.engine.journal import Statement
from spaced.engine.parts import EngineParts
from spaced.engine.session_commands import living_session
from spaced.log.read_models.runs import RUN
from spaced.refusals import SessionIsPrimary

log = logging.getLogger(__name__)

_PAGE: Final = 100


class Deletions:
    """The commands that delete, and the duty that removes for good."""

    def __init__(
        self, parts: EngineParts, executions: Executions, coordinator: Coordinator
    ) -> None:
        self._parts = parts
        self._executions = executions
        self._coordinator = coordinator
        self._purging = False

    async def delete(self, session_id: str, *, force: bool = False, now: bool = False) -> None:
        """Delete a chat, or one session of a run with others; its id is never used again.

        Args:
            force: end what is going on instead of refusing.
            now: remove everything for good at once instead of after the retention.

        Raises:
            SessionBusy: something is going on.
            SessionIsPrimary: the session answers for a run that has others.
        """
        run_id = await self._parts.queues.run_of_session(session_id)
        work = self._delete(run_id, session_id, force=force, at_once=now)
        await self._parts.tasks.finish(work, name=f"deletion of {session_id}")

    async def purge_due(self) -> None:
        """Remove the deleted runs whose time has come, and look again when the next one's does."""
        if self._purging:
            return
        self._purging = True
        try:
            while (due := await self._next_due()) is not None:
                run_id, purge_at = due
                wait = purge_at - self._parts.clock.now()
                if wait > 0:
                    self._look_again(wait)
                    return
                await self.purge(run_id)
        finally:
            self._purging = False

    async def purge(self, run_id: str) -> None:
        """Remove a deleted run for good; its id stays fenced."""
        async with self._parts.queues.hold(run_id) as held:
            await self._parts.storage.purge(run_id)
            held.is_usable = False
        log.info("a run was removed for good", extra={"event": "run-purged", "run_id": run_id})

    async def _delete(self, run_id: str, session_id: str, *, force: bool, at_once: bool) -> None:
        async with self._parts.queues.hold(run_id) as held:
            session = living_session(held, session_id)
            others = [s for s in held.sessions() if s.id != session_id and not s.is_deleted]
            is_whole_run = not others or (held.run.is_chat and session_id == run_id)
            if not is_whole_run and held.run.primary_session_id == session_id:
                raise SessionIsPrimary(f"the session {session_id!r} answers for its run")
            sessions = [session, *(others if is_whole_run else [])]
            if not force:
                for one in sessions:
                    self._coordinator.refuse_busy(held, one.id)
            await self._record(held, sessions, is_whole_run=is_whole_run, at_once=at_once)
            self._parts.reach("deleted")
            for one in sessions:
                self._coordinator.interrupt(one.id, "deleted")
                self._coordinator.interrupt(one.id, "deleted")
        await self._silence(sessions)
        if is_whole_run:
            await self._purge_later(run_id, at_once=at_once)

    async def _record(
        self, held: HeldRun, sessions: Sequence[Session], *, is_whole_run: bool, at_once: bool
    ) -> None:
        told: list[Statement] = []
        for session in sessions:
            told += about(session.id, *_ended(held, session))
        if is_whole_run:
            retention = 0 if at_once else self._parts.settings.retention_ms
            purge_at = to_rfc3339(Timestamp(self._parts.clock.now() + retention))
            names = tuple(session.id for session in held.sessions())
            told.append(Statement(event=RunDeleted(purge_at=purge_at, session_ids=names)))
        else:
            told += about(sessions[0].id, SessionDeleted())
        await held.append(told)

    async def _silence(self, sessions: Sequence[Session]) -> None:
        """Wait until nothing of the sessions is going on any more."""
        for session in sessions:
            live = self._executions.live(session.id)
            if live is not None:
                await self._executions.silence(live, grace_ms=0)
            await self._coordinator.idle(session.id)

    async def _purge_later(self, run_id: str, *, at_once: bool) -> None:
        if at_once:
            await self.purge(run_id)
        else:
            self._parts.tasks.start(self.purge_due(), name="look for runs to purge")

    async def _next_due(self) -> tuple[str, int] | None:
        where = {"visibility": "hidden"}
        page = await self._parts.storage.list_rows(RUN.name, where=where, order="due", limit=1)
        return (
            None if not page.rows else (str(page.rows[0]["id"]), int(page.rows[0]["purge_at"] or 0))
        )

    def _look_again(self, after_ms: int) -> None:
        async def look() -> None:
            await self._parts.clock.sleep(after_ms)
            await self.purge_due()

        self._parts.tasks.start(look(), name="wait for the next purge")


def _ended(held: HeldRun, session: Session) -> list[Event]:
    """Return what ends everything that a session has open."""
    turn = held.open_turn(session.id)
    asks = held.open_asks(session.id)
    promoted = held.promoted(session.id)
    events: list[Event] = []
    if turn is not None:
        events += return_prompts(promoted, turn.id)
        events += end_turn(turn, session, asks, outcome="interrupted", cause="deleted")
    else:
        events += [AskExpired(ask_id=ask.id, reason="deleted") for ask in asks]
    events += [
        PromptCancelled(prompt_id=prompt.id, reason="deleted")
        for prompt in (*held.pending(session.id), *promoted)
    ]
    events += [
        ExecutionEnded(execution_id=execution.id, reason="deleted")
        for execution in held.open_executions(session.id)
    ]
    return events
