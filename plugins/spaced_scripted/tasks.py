"""The tasks of one connection: named, owned, and all gone when it is closed.

No `asyncio.TaskGroup` can hold them: it has to be entered and left by one task, and a connection is
opened in one task of the daemon, told to start a turn in another and closed in a third.
"""

import asyncio
import logging
from collections.abc import Coroutine


class Tasks:
    """Starts tasks and ends them."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._running: set[asyncio.Task[None]] = set()

    def start(self, name: str, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Start a task; what it raises is logged."""
        task = asyncio.get_running_loop().create_task(work, name=f"scripted-{name}")
        self._running.add(task)
        task.add_done_callback(self._forget)
        return task

    async def cancel(self) -> None:
        """Cancel every task but the one that asks, and wait until they have ended."""
        while others := self._running - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.wait(others)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("the task %s failed", task.get_name(), exc_info=error)
