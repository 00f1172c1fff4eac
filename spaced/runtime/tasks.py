"""Tasks that outlive the call that starts them: each has a name, and none is forgotten."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

_LOG: Final = logging.getLogger(__name__)

_T = TypeVar("_T")


class Tasks:
    """Tasks that live until they end, or until all of them are closed.

    A `TaskGroup` will not do: the first task that fails would cancel all others, and here each one
    serves another session. It would also have to be closed by the task that opened it.
    """

    def __init__(self, log: logging.Logger = _LOG) -> None:
        self._log = log
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, _T], *, name: str) -> asyncio.Task[_T]:
        """Run something beside the caller; an error that it ends with is logged."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._note_end)
        return task

    async def finish(
        self,
        work: Coroutine[Any, Any, _T],
        *,
        name: str,
        if_abandoned: Callable[[_T], None] | None = None,
    ) -> _T:
        """Run something to its end, even if the caller is cancelled: it must not stay half done.

        Args:
            if_abandoned: called with the outcome if the caller was cancelled and cannot use it.
        """
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # Nobody will ask for the outcome any more, so an error must not be lost.
            task.add_done_callback(self._log_error)
            if if_abandoned is not None:
                task.add_done_callback(_passing_on(if_abandoned))
            raise

    async def close(self) -> None:
        """Cancel what still runs, but for the caller's own task, and wait until all has ended."""
        while others := self._running - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.wait(others)

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        self._log_error(task)

    def _log_error(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._log.error(
                "%s failed",
                task.get_name(),
                exc_info=task.exception(),
                extra={"event": "task-failed", "task": task.get_name()},
            )


def _passing_on(use: Callable[[_T], None]) -> Callable[[asyncio.Task[_T]], None]:
    def pass_on(task: asyncio.Task[_T]) -> None:
        if not task.cancelled() and task.exception() is None:
            use(task.result())

    return pass_on
