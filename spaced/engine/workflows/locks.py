"""Keeps a workflow's steps in place while a run enters one of them.

Entering a step commits to the run's stream and changing a workflow to the workflow's, so no
expected version guards one against the other. Entries of one workflow do not wait for each other,
since all chats enter the same one; a change waits for them, and they wait for it.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Door:
    inside: int = 0
    is_closed: bool = False
    waiting: deque[tuple[bool, asyncio.Future[None]]] = field(default_factory=deque)

    @property
    def is_unused(self) -> bool:
        """Whether nobody is inside or waits."""
        return not (self.inside or self.is_closed or self.waiting)

    async def pass_through(self, *, alone: bool) -> None:
        """Wait until one may go in; whoever came first goes first."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append((alone, turn))
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if (alone, turn) in self.waiting:
                self.waiting.remove((alone, turn))
                self._admit()
            else:
                self.leave(alone=alone)
            raise

    def leave(self, *, alone: bool) -> None:
        """Go out, and let in who waits."""
        if alone:
            self.is_closed = False
        else:
            self.inside -= 1
        self._admit()

    def _admit(self) -> None:
        while self.waiting and not self.is_closed:
            alone, turn = self.waiting[0]
            if alone and self.inside:
                return
            self.waiting.popleft()
            if alone:
                self.is_closed = True
            else:
                self.inside += 1
            if not turn.done():
                turn.set_result(None)


class EntryLocks:
    """One lock for each workflow: shared by entries, alone for changes."""

    def __init__(self) -> None:
        self._doors: dict[str, _Door] = {}

    @asynccontextmanager
    async def entering(self, workflow_id: str) -> AsyncIterator[None]:
        """Hold a workflow as it is while a run enters one of its steps."""
        async with self._through(workflow_id, alone=False):
            yield

    @asynccontextmanager
    async def changing(self, *workflow_ids: str) -> AsyncIterator[None]:
        """Hold workflows while they are changed; in one order, so that nobody waits in a circle."""
        async with AsyncExitStack() as held:
            for workflow_id in sorted(set(workflow_ids)):
                await held.enter_async_context(self._through(workflow_id, alone=True))
            yield

    @asynccontextmanager
    async def _through(self, workflow_id: str, *, alone: bool) -> AsyncIterator[None]:
        door = self._doors.setdefault(workflow_id, _Door())
        try:
            await door.pass_through(alone=alone)
            try:
                yield
            finally:
                door.leave(alone=alone)
        finally:
            if door.is_unused:
                self._doors.pop(workflow_id, None)
