"""The mark before a turn's prompts are handed over: from here on they never are a second time."""

import asyncio
import logging
from dataclasses import dataclass

from spaced.domain.events.turn import TurnDispatched
from spaced.domain.prompt import AdmittedPrompt
from spaced.engine.executions import LiveExecution
from spaced.engine.held_run import about
from spaced.engine.parts import EngineParts
from spaced.engine.turns.history import history_for
from spaced.engine.turns.messages import HandedOver, Mailbox, NotHandedOver
from spaced.errors import RuntimeProblem
from spaced.runtime.protocol import AgentConnection, Prompt, Turn

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunTurn:
    """A turn whose beginning is recorded.

    Attributes:
        instructions: the workflow's words for it.
    """

    id: str
    run_id: str
    session_id: str
    prompts: tuple[AdmittedPrompt, ...]
    instructions: str = ""


class TurnDispatch:
    """Hands a turn over, beside it, so that the turn can still be told to end."""

    def __init__(self, parts: EngineParts, turn: BegunTurn, mailbox: Mailbox) -> None:
        self._parts = parts
        self._turn = turn
        self._mailbox = mailbox
        self._task: asyncio.Task[None] | None = None

    async def start(self, live: LiveExecution, connection: AgentConnection) -> None:
        """Record that the turn is handed over, and begin to; the mailbox is told what comes of it.

        Raises:
            SpacedError: it could not be recorded, so nothing is handed over.
        """
        turn = await _record(self._parts, self._turn, live)
        self._parts.reach("dispatch-recorded")
        name = f"hand-over of {turn.id}"
        self._task = self._parts.tasks.start(self._hand_over(connection, turn), name=name)

    def cancel(self) -> None:
        """Wait for it no longer."""
        if self._task is not None:
            self._task.cancel()

    async def _hand_over(self, connection: AgentConnection, turn: Turn) -> None:
        try:
            await connection.start_turn(turn)
        except RuntimeProblem as problem:
            self._mailbox.put(NotHandedOver(message=problem.message, is_certain=True))
        except Exception:
            log.exception("a runtime failed to begin a turn", extra={"event": "runtime-fault"})
            message = "The runtime failed in an unexpected way."
            self._mailbox.put(NotHandedOver(message=message, is_certain=False))
        else:
            self._parts.reach("handed-over")
            self._mailbox.put(HandedOver())


async def _record(parts: EngineParts, turn: BegunTurn, live: LiveExecution) -> Turn:
    async with parts.queues.hold(turn.run_id) as held:
        held.require_turn(turn.session_id, turn.id)
        history = await history_for(parts.storage, held, turn.session_id, turn.id)
        late = live.sink.items.end_streams()
        dispatched = TurnDispatched(
            turn_id=turn.id,
            execution_id=live.id,
            prompt_ids=tuple(prompt.id for prompt in turn.prompts),
        )
        told = about(turn.session_id, *late.events, dispatched)
        await held.append(told, own_rows=late.rows)
    return Turn(
        id=turn.id,
        prompts=tuple(Prompt(id=p.id, parts=p.parts) for p in turn.prompts),
        instructions=turn.instructions,
        history=history,
    )
