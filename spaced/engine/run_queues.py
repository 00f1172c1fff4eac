"""One queue for each run: whoever holds it decides alone, from reading to durable.

Commands of clients and reports of runtimes pass through the same queue, first come, first served.
So a decision is never made on a state that somebody else is about to change; the expected version
of the append guards against a second process and against faults of ours.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from spaced.engine.held_run import HeldRun
from spaced.engine.journal import Journal
from spaced.errors import StaleVersion
from spaced.log.read_models.sessions import SESSION
from spaced.refusals import UnknownSession
from spaced.storage.protocol import Storage

log = logging.getLogger(__name__)

_KEPT: Final = 256
"""Runs whose state is kept though nobody holds them, so that the next command reads nothing."""


@dataclass(slots=True)
class _Queue:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    held: HeldRun | None = None


class RunQueues:
    """The queues of all runs, and where the runs of sessions are found."""

    def __init__(self, storage: Storage, journal: Journal) -> None:
        self._storage = storage
        self._journal = journal
        self._queues: OrderedDict[str, _Queue] = OrderedDict()

    @asynccontextmanager
    async def hold(self, run_id: str) -> AsyncIterator[HeldRun]:
        """Wait for a run's turn and hold it; a run that does not exist is held as empty."""
        queue = self._queues.setdefault(run_id, _Queue())
        queue.users += 1
        try:
            async with queue.lock:
                if queue.held is None or not queue.held.is_usable:
                    queue.held = await HeldRun.load(run_id, self._journal, self._storage)
                try:
                    yield queue.held
                except StaleVersion as conflict:
                    log.warning(
                        "another process has written to the log: %s",
                        conflict,
                        extra={"event": "conflicting-write", "run_id": run_id},
                    )
                    raise
        finally:
            queue.users -= 1
            self._keep_few(run_id, queue)

    async def run_of_session(self, session_id: str) -> str:
        """Return the run that a session belongs to.

        Raises:
            UnknownSession: there is no session of this id.
        """
        if session_id in self._queues:  # a chat's session has the id of its run
            return session_id
        rows = (await self._storage.get_rows(SESSION.name, [(session_id,)])).rows
        if not rows:
            raise UnknownSession(session_id)
        return str(rows[0]["stream"])

    def _keep_few(self, run_id: str, queue: _Queue) -> None:
        if queue.users == 0 and (queue.held is None or not queue.held.exists):
            self._queues.pop(run_id, None)
            return
        self._queues.move_to_end(run_id)
        if len(self._queues) > _KEPT:
            idle = [name for name, other in self._queues.items() if other.users == 0]
            for name in idle[: len(self._queues) - _KEPT]:
                del self._queues[name]
