"""Hands steers into a running turn, with the same two marks as the prompts that began it."""

import asyncio
from typing import Final

from spaced.clock import to_rfc3339
from spaced.domain.events.turn import TurnDispatched
from spaced.domain.prompt import AdmittedPrompt
from spaced.domain.prompt_queue import choose_steers
from spaced.domain.turn_decisions import return_prompts, show_prompts
from spaced.engine.executions import LiveExecution
from spaced.engine.held_run import HeldRun, about
from spaced.engine.parts import EngineParts
from spaced.engine.turns.messages import Mailbox, Unwritable, Woken
from spaced.engine.waiting import until_written
from spaced.errors import RuntimeProblem, SpacedError
from spaced.runtime.protocol import AgentConnection, Prompt

PATIENCE_MS: Final = 1000
"""What an ending turn waits for an agent that was told a steer."""


class TurnSteering:
    """The steers of one turn."""

    def __init__(
        self, parts: EngineParts, mailbox: Mailbox, *, run_id: str, session_id: str, turn_id: str
    ) -> None:
        self._parts = parts
        self._mailbox = mailbox
        self._run_id = run_id
        self._session_id = session_id
        self._turn_id = turn_id
        self._task: asyncio.Task[None] | None = None
        self._is_wanted_again = False

    def hand_in(self, live: LiveExecution, connection: AgentConnection) -> None:
        """Hand in what waits, if the agent can take it; what it does not take is pending again.

        It goes on beside the turn, one after the other, so that the turn can still be told to end.
        """
        if not live.runtime.capabilities.steer:
            return
        if self._task is not None:
            self._is_wanted_again = True
            return
        work = self._hand_in(live, connection)
        self._task = self._parts.tasks.start(work, name=f"steering of {self._turn_id}")

    async def settle(self) -> None:
        """Wait until it is known what became of the last steers, but not for ever."""
        task, self._task = self._task, None
        if task is None:
            return
        limit = self._parts.tasks.start(self._parts.clock.sleep(PATIENCE_MS), name="steer limit")
        await asyncio.wait({task, limit}, return_when=asyncio.FIRST_COMPLETED)
        limit.cancel()
        task.cancel()

    async def _hand_in(self, live: LiveExecution, connection: AgentConnection) -> None:
        self._is_wanted_again = False
        try:
            async with self._parts.queues.hold(self._run_id) as held:
                steers = await self._record(held, live)
            if steers and not await self._is_taken(connection, steers):
                await until_written(self._parts, lambda: self._return(steers))
        except SpacedError as error:
            self._mailbox.put(Unwritable(error=error))
        self._task = None
        if self._is_wanted_again:
            self._mailbox.put(Woken())

    async def _is_taken(
        self, connection: AgentConnection, steers: tuple[AdmittedPrompt, ...]
    ) -> bool:
        self._parts.reach("steer-recorded")
        prompts = tuple(Prompt(id=p.id, parts=p.parts) for p in steers)
        try:
            is_taken = await connection.steer(self._turn_id, prompts)
        except RuntimeProblem:
            is_taken = False
        self._parts.reach("steer-handed-over")
        return is_taken

    async def _record(self, held: HeldRun, live: LiveExecution) -> tuple[AdmittedPrompt, ...]:
        session, turn = held.session(self._session_id), held.open_turn(self._session_id)
        if session is None or session.is_queue_paused or held.run.is_deleted:
            return ()
        if turn is None or turn.id != self._turn_id:
            return ()
        if self._mailbox.holds_interrupt:
            return ()  # what came with an interrupt is meant for after it
        steers = choose_steers(held.pending(session.id))
        if not steers:
            return ()
        shown = show_prompts(
            steers,
            turn_id=self._turn_id,
            new_item_id=lambda: self._parts.ids.new("itm"),
            created_at=to_rfc3339(self._parts.clock.now()),
        )
        dispatched = TurnDispatched(
            turn_id=self._turn_id,
            execution_id=live.id,
            prompt_ids=tuple(prompt.id for prompt in steers),
        )
        await held.append(about(session.id, *shown, dispatched))
        return steers

    async def _return(self, steers: tuple[AdmittedPrompt, ...]) -> None:
        async with self._parts.queues.hold(self._run_id) as held:
            session = held.session(self._session_id)
            if session is None or session.is_deleted or held.run.is_deleted:
                return  # whoever deleted the session has cancelled them
            returned = return_prompts(steers, self._turn_id)
            await held.append(about(self._session_id, *returned))
