"""Changes the queue in which a session's prompts wait."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from spaced.domain.events.event import Event
from spaced.domain.events.prompt import (
    Delivery,
    PromptCancelled,
    PromptEdited,
    QueuePaused,
    QueueResumed,
)
from spaced.domain.json_values import JsonObject
from spaced.domain.prompt import AdmittedPrompt
from spaced.domain.prompt_parts import check_parts
from spaced.domain.prompt_queue import move
from spaced.domain.session import Session
from spaced.engine.coordinator import Coordinator
from spaced.engine.held_run import HeldRun, about
from spaced.engine.parts import EngineParts
from spaced.engine.session_commands import command, living_session
from spaced.log.read_models.lives import PROMPTS
from spaced.refusals import PromptNotPending, SessionTerminal, UnknownPrompt

_Decide: TypeAlias = Callable[[HeldRun, AdmittedPrompt], list[Event]]


class PromptQueues:
    """The commands about pending prompts."""

    def __init__(self, parts: EngineParts, coordinator: Coordinator) -> None:
        self._parts = parts
        self._coordinator = coordinator

    async def pending(self, session_id: str) -> Sequence[AdmittedPrompt]:
        """Return the prompts that wait, in the order of the queue."""

        async def look(held: HeldRun, _: Session) -> Sequence[AdmittedPrompt]:
            return held.pending(session_id)

        return await command(self._parts, session_id, look)

    async def edit(
        self,
        session_id: str,
        prompt_id: str,
        *,
        parts: Sequence[JsonObject] | None = None,
        delivery: Delivery | None = None,
        to_index: int | None = None,
    ) -> AdmittedPrompt:
        """Change a pending prompt, all of it at once; what is left out stays as it is.

        Args:
            to_index: its new place in the queue, counted from 0.
        """
        checked = None if parts is None else check_parts(parts)

        def decide(held: HeldRun, prompt: AdmittedPrompt) -> list[Event]:
            events: list[Event] = []
            if checked is not None or delivery is not None:
                events.append(PromptEdited(prompt_id=prompt_id, parts=checked, delivery=delivery))
            if to_index is not None:
                events += move(held.pending(session_id), prompt, to_index=to_index)
            return events

        return await self._change(session_id, prompt_id, decide)

    async def cancel(self, session_id: str, prompt_id: str) -> None:
        """Take a pending prompt out of the queue; it will not be delivered."""
        event = PromptCancelled(prompt_id=prompt_id, reason="person")
        await self._change(session_id, prompt_id, _always(event))

    async def move(self, session_id: str, prompt_id: str, *, to_index: int) -> AdmittedPrompt:
        """Put a pending prompt at another place of its queue, counted from 0."""
        return await self.edit(session_id, prompt_id, to_index=to_index)

    async def send_now(self, session_id: str, prompt_id: str) -> AdmittedPrompt:
        """Make a pending prompt a steer that goes with the next chance; it interrupts nothing."""

        def decide(held: HeldRun, prompt: AdmittedPrompt) -> list[Event]:
            session = living_session(held, session_id)
            events: list[Event] = []
            if prompt.held or prompt.delivery != "steer":
                events.append(PromptEdited(prompt_id=prompt_id, delivery="steer", held=False))
            if session.is_queue_paused:
                events.append(QueueResumed(reason="person"))
            return events

        return await self._change(session_id, prompt_id, decide)

    async def pause(self, session_id: str) -> None:
        """Let pending prompts wait until somebody resumes the queue or prompts again."""

        async def decide(held: HeldRun, session: Session) -> None:
            _refuse_ended(session)
            if not session.is_queue_paused:
                await held.append(about(session_id, QueuePaused(reason="person")))

        await command(self._parts, session_id, decide)

    async def resume(self, session_id: str) -> None:
        """Let the queue go on in its order, held prompts too."""

        async def decide(held: HeldRun, session: Session) -> None:
            _refuse_ended(session)
            events: list[Event] = [
                PromptEdited(prompt_id=prompt.id, held=False)
                for prompt in held.pending(session_id)
                if prompt.held
            ]
            if session.is_queue_paused:
                events.append(QueueResumed(reason="person"))
            if events:
                await held.append(about(session_id, *events))
            self._coordinator.wake(held.id, session_id)

        await command(self._parts, session_id, decide)

    async def _change(
        self,
        session_id: str,
        prompt_id: str,
        decide: _Decide,
    ) -> AdmittedPrompt:
        async def change(held: HeldRun, _: Session) -> AdmittedPrompt:
            prompt = await self._pending_prompt(held, session_id, prompt_id)
            events = decide(held, prompt)
            if events:
                await held.append(about(session_id, *events))
                self._coordinator.wake(held.id, session_id)
            return held.prompt(prompt_id) or prompt

        return await command(self._parts, session_id, change)

    async def _pending_prompt(
        self, held: HeldRun, session_id: str, prompt_id: str
    ) -> AdmittedPrompt:
        prompt = held.prompt(prompt_id)
        if prompt is None:
            found = (await self._parts.storage.get_rows(PROMPTS.table.name, [(prompt_id,)])).rows
            prompt = PROMPTS.state_of(found[0]) if found else None
        if prompt is None or prompt.session_id != session_id:
            raise UnknownPrompt(prompt_id)
        if prompt.status != "pending":
            raise PromptNotPending(f"the prompt {prompt_id!r} is {prompt.status}, not pending")
        return prompt


def _refuse_ended(session: Session) -> None:
    """Keep the queue of a session that has ended as it is: nothing of it ever changes again."""
    if session.is_terminal:
        raise SessionTerminal(f"the session {session.id!r} is {session.status}")


def _always(event: Event) -> _Decide:
    def decide(held: HeldRun, prompt: AdmittedPrompt) -> list[Event]:
        del held, prompt
        return [event]

    return decide
