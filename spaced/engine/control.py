"""What a person does to a session at work: interrupt it, wait for it, let it begin anew."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from spaced.clock import to_rfc3339
from spaced.domain.events.ask import AskExpired
from spaced.domain.events.event import Event
from spaced.domain.events.prompt import QueuePaused
from spaced.domain.events.session import SessionReset
from spaced.domain.events.transcript import AgentItemAppended, AgentSessionDataUpdated
from spaced.domain.json_values import JsonObject
from spaced.domain.session import Session
from spaced.domain.session_items import event_item
from spaced.engine.coordinator import Coordinator
from spaced.engine.executions import Executions
from spaced.engine.held_run import HeldRun, about
from spaced.engine.live_status import LiveStatus
from spaced.engine.parts import EngineParts
from spaced.engine.session_commands import command, living_session
from spaced.engine.transcripts import newest_items
from spaced.engine.turns.messages import InterruptCause
from spaced.errors import RuntimeProblem
from spaced.refusals import AgentCannot

_SHOWN_ITEMS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a session is.

    Attributes:
        is_done: whether it was idle before the time was over.
        items: the newest items of its transcript.
        running_tools: those of them that are tool calls without an end.
        pending: how many prompts wait.
    """

    is_done: bool
    status: LiveStatus
    items: Sequence[JsonObject]
    running_tools: Sequence[JsonObject]
    pending: int


class Control:
    """The commands to sessions at work."""

    def __init__(
        self, parts: EngineParts, executions: Executions, coordinator: Coordinator
    ) -> None:
        self._parts = parts
        self._executions = executions
        self._coordinator = coordinator

    async def interrupt(self, session_id: str, *, cause: InterruptCause = "person") -> bool:
        """End what a session is doing; its queue stays and is paused. A second one kills at once.

        Returns:
            False if it was doing nothing, so that nothing changed.
        """

        async def decide(held: HeldRun, session: Session) -> bool:
            return await self._interrupt(held, session, cause)

        return await command(self._parts, session_id, decide)

    async def wait(self, session_id: str, *, timeout_ms: int) -> Progress:
        """Wait until a session is idle, but no longer than this; then say how far it is."""
        run_id = await self._parts.queues.run_of_session(session_id)
        idle = self._parts.tasks.start(
            self._coordinator.idle(session_id), name=f"wait for {session_id}"
        )
        limit = self._parts.tasks.start(self._parts.clock.sleep(timeout_ms), name="wait limit")
        try:
            await asyncio.wait({idle, limit}, return_when=asyncio.FIRST_COMPLETED)
            is_done = idle.done()
        finally:
            idle.cancel()
            limit.cancel()
        async with self._parts.queues.hold(run_id) as held:
            living_session(held, session_id)
            pending = len(held.pending(session_id))
        page = await newest_items(self._parts.storage, session_id, limit=_SHOWN_ITEMS)
        return Progress(
            is_done=is_done,
            status=self._coordinator.status(session_id),
            items=page.items,
            running_tools=[item for item in page.items if _is_running_tool(item)],
            pending=pending,
        )

    async def reset(self, session_id: str, *, reason: str = "person") -> None:
        """Begin the provider's conversation anew; the transcript stays.

        Raises:
            SessionBusy: a turn runs.
        """
        run_id = await self._parts.queues.run_of_session(session_id)
        work = self._reset(run_id, session_id, reason)
        await self._parts.tasks.finish(work, name=f"reset of {session_id}")

    async def compact(self, session_id: str) -> None:
        """Let the connected agent shorten its conversation.

        Raises:
            AgentCannot: it has no such thing, or none is connected.
        """
        await self._parts.queues.run_of_session(session_id)
        live = self._executions.live(session_id)
        if live is None or live.connection is None:
            raise AgentCannot(
                f"no agent is connected to the session {session_id!r}",
                remedy="Prompt the session first.",
            )
        try:
            is_compacted = await live.connection.compact()
        except RuntimeProblem as problem:
            raise AgentCannot(problem.message, remedy=problem.remedy) from problem
        if not is_compacted:
            raise AgentCannot(f"the agent of the session {session_id!r} cannot compact")

        async def note(held: HeldRun, session: Session) -> None:
            created_at = to_rfc3339(self._parts.clock.now())
            item_id = self._parts.ids.new("itm")
            item = event_item(item_id, "compaction", {"wanted": True}, created_at)
            await held.append(about(session.id, AgentItemAppended(item=item)))

        await command(self._parts, session_id, note)

    async def _interrupt(self, held: HeldRun, session: Session, cause: InterruptCause) -> bool:
        if not self._coordinator.is_at_work(held, session.id):
            return False
        events: list[Event] = [
            AskExpired(ask_id=ask.id, reason="interrupted") for ask in held.open_asks(session.id)
        ]
        if held.pending(session.id) and not session.is_queue_paused:
            events.append(QueuePaused(reason="interrupt"))
        if events:
            await held.append(about(session.id, *events))
        self._parts.reach("interrupt-recorded")
        # Told while the run is held: so it never meets a turn that began after this.
        return self._coordinator.interrupt(session.id, cause)

    async def _reset(self, run_id: str, session_id: str, reason: str) -> None:
        async with self._parts.queues.hold(run_id) as held:
            session = living_session(held, session_id)
            self._coordinator.refuse_busy(held, session_id)
            data = {key: value for key, value in session.data.items() if key != "continuity"}
            events: list[Event] = [
                SessionReset(generation=session.generation + 1, reason=reason),
                AgentSessionDataUpdated(data=data),
            ]
            live = await self._executions.append_ending(held, session, events, reason="reset")
        if live is not None and live.connection is not None:
            try:
                await live.connection.forget()
            except RuntimeProblem as problem:
                self._executions.log_fault(live, problem)
            await self._executions.silence(live, grace_ms=self._parts.settings.stop_grace_ms)


def _is_running_tool(item: JsonObject) -> bool:
    return item.get("type") == "tool-call" and item.get("status") in ("pending", "running")
