"""Opens a connection for a turn, beside it, so that the turn can still be told to end."""

import asyncio

from spaced.engine.executions import Executions
from spaced.engine.parts import EngineParts
from spaced.engine.turns.messages import Mailbox, Opened, OpenFailed
from spaced.errors import SpacedError


class TurnOpening:
    """The opening of a turn's connection; what comes of it is put into the turn's mailbox."""

    def __init__(
        self,
        parts: EngineParts,
        executions: Executions,
        mailbox: Mailbox,
        *,
        run_id: str,
        session_id: str,
    ) -> None:
        self._parts = parts
        self._executions = executions
        self._mailbox = mailbox
        self._run_id = run_id
        self._session_id = session_id
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to open."""
        name = f"opening of {self._session_id}"
        self._task = self._parts.tasks.start(self._open(), name=name)

    def cancel(self) -> None:
        """Wait for it no longer."""
        if self._task is not None:
            self._task.cancel()

    async def give_up(self) -> None:
        """End it; when this returns nothing of it is left."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        live = self._executions.live(self._session_id)
        if live is not None:  # it was open just now, and its message was not taken
            await self._executions.end(live, reason="interrupted")

    async def _open(self) -> None:
        try:
            live = await self._executions.open(self._run_id, self._session_id)
        except SpacedError as error:
            self._mailbox.put(OpenFailed(error=error))
        else:
            self._mailbox.put(Opened(live=live))
