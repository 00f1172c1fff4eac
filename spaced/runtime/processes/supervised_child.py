"""A child as its supervisor holds it: its pipes, its end, and its process group."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from spaced.runtime.child import ChildRequest, Exit
from spaced.runtime.processes.child_input import ChildInput
from spaced.runtime.processes.child_output import ErrorOutput, Output
from spaced.runtime.processes.exit_watch import ExitWatch
from spaced.runtime.processes.facts import ProcessFacts
from spaced.runtime.processes.line_splitter import LineSplitter
from spaced.runtime.processes.process_table import ProcessTable

Stop: TypeAlias = Callable[["SupervisedChild", int], Awaitable[None]]
"""Ends a child and all that it started, with this many milliseconds of grace."""


class SupervisedChild:
    """Implements `Child`.

    Once it has ended it stays a zombie until it is released, so that its number, which is also its
    group's and its session's, means nobody else as long as something of it may be left.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        request: ChildRequest,
        facts: ProcessFacts,
        *,
        table: ProcessTable,
        stop: Stop,
    ) -> None:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        self.facts = facts
        self.recording = asyncio.Lock()
        self._stop = stop
        self._lines = LineSplitter(request.line_limit)
        self._input = ChildInput(process.stdin, facts.command)
        self._output = Output(process.stdout)
        self._errors = ErrorOutput(process.stderr)
        self._exit = Exit()
        self._has_ended = asyncio.Event()
        self._is_released = False
        self._was_terminated = False
        self._watch = ExitWatch(process, table, self._end)

    @property
    def pid(self) -> int:
        """Its process id, which is also its session's and its group's."""
        return self.facts.pid

    @property
    def is_running(self) -> bool:
        """It has not ended, as far as it was noticed."""
        return not self._has_ended.is_set()

    async def write(self, data: bytes) -> None:
        """Write to its input and wait until all of it is in the pipe."""
        await self._input.write(data)

    def close_input(self) -> None:
        """Close its input once everything is written; closing twice is fine."""
        self._input.close()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield its output line by line; a later call goes on where the last one was left."""
        while True:
            while (line := self._lines.take()) is not None:
                yield line
            block = await self._output.take()
            if not block:
                break
            self._lines.feed(block)
        self._lines.end()
        while (line := self._lines.take()) is not None:
            yield line

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield its output as it comes."""
        while block := await self._output.take():
            yield block

    def error_output(self) -> str:
        """Return the last 64 KiB of its error output; after its end, nothing of it is missing."""
        return self._errors.text()

    async def wait(self) -> Exit:
        """Return how it ended."""
        await self._has_ended.wait()
        return self._exit

    async def stop(self, grace_ms: int) -> Exit:
        """End it and everything that it started.

        Calls at the same time share their steps, and the most impatient one decides. One that is
        cancelled leaves the others alone; if there are none, the stop goes no further.
        """
        await self._stop(self, grace_ms)
        return await self.wait()

    def terminate_group(self) -> None:
        """Ask its process group to end, once: a second time would hurry a program that is at it."""
        if not self._was_terminated:
            self._was_terminated = True
            self._signal_group(signal.SIGTERM)

    def kill_group(self) -> None:
        """End its process group."""
        self._signal_group(signal.SIGKILL)

    def release(self) -> None:
        """Let go of its pipes and its number, when nothing of it is left; twice is fine.

        What it has written can still be taken.
        """
        if not self._is_released:
            self._is_released = True
            self._input.abandon()
            self._output.close()
            self._errors.close()
            self._watch.reap()

    def _signal_group(self, number: signal.Signals) -> None:
        # macOS refuses permission where all members of a group are zombies.
        if not self._is_released:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _end(self, exit_: Exit) -> None:
        self._errors.drain()  # whoever waits for the end looks there for its reason
        self._exit = exit_
        self._has_ended.set()
