"""One sink, many tasks that report: one update after the other, and none after the end."""

import asyncio

from spaced.runtime.protocol import Sink
from spaced.runtime.tasks import Tasks
from spaced.runtime.updates import ExecutionFinished, Update


class Reporter:
    """Reports in the order of the calls; each call returns when its update was taken."""

    def __init__(self, sink: Sink, tasks: Tasks) -> None:
        self._sink = sink
        self._tasks = tasks
        self._order = asyncio.Lock()
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether nothing is reported any more."""
        return self._is_over

    def silence(self) -> None:
        """Begin no further report."""
        self._is_over = True

    async def report(self, update: Update) -> None:
        """Report an update, unless everything was said."""
        if self._is_over:
            return
        # In a task of its own: an interrupt cancels the step that reports, and must not cancel what
        # the sink is doing with an update that it has already begun to take.
        await self._tasks.finish(self._deliver(update), name="report")

    async def report_last(self, update: ExecutionFinished) -> None:
        """Report the end of the execution; nothing follows."""
        async with self._order:
            if not self._is_over:
                self._is_over = True
                await self._sink.report(update)

    async def _deliver(self, update: Update) -> None:
        async with self._order:
            if not self._is_over:
                await self._sink.report(update)
