"""The writing end of a child's input, on callbacks of the event loop.

What was once handed over is written as a whole and in order, even if whoever handed it over is
cancelled while the pipe is full: half a message would spoil all that follow.
"""

import asyncio
import os
from collections import deque
from typing import IO, TypeAlias

from spaced.errors import ChildGone

_Pending: TypeAlias = tuple[memoryview, asyncio.Future[None]]


class ChildInput:
    """Writes to a pipe as fast as it is read."""

    def __init__(self, pipe: IO[bytes], program: str) -> None:
        self._pipe = pipe
        self._program = program
        self._loop = asyncio.get_running_loop()
        self._pending: deque[_Pending] = deque()
        self._is_closing = False
        os.set_blocking(pipe.fileno(), False)

    async def write(self, data: bytes) -> None:
        """Return when everything is in the pipe.

        Raises:
            ChildGone: the pipe is closed at either end.
        """
        if self._is_closing:
            raise self._gone()
        written: asyncio.Future[None] = self._loop.create_future()
        self._pending.append((memoryview(data), written))
        if len(self._pending) == 1:
            self._flush()
        await written

    def close(self) -> None:
        """Take nothing more, and close the pipe once all is written."""
        self._is_closing = True
        if not self._pending:
            self._close_pipe()

    def abandon(self) -> None:
        """Close the pipe now; whoever still writes is told that the child is gone."""
        self._is_closing = True
        self._close_pipe()
        for _, written in self._pending:
            if not written.done():
                written.set_exception(self._gone())
        self._pending.clear()

    def _flush(self) -> None:
        try:
            while self._pending:
                self._write_first()
        except BlockingIOError:
            self._loop.add_writer(self._pipe.fileno(), self._flush)
            return
        except OSError:  # nobody holds the other end any more
            self.abandon()
            return
        self._loop.remove_writer(self._pipe.fileno())
        if self._is_closing:
            self._close_pipe()

    def _write_first(self) -> None:
        data, written = self._pending[0]
        rest = data[os.write(self._pipe.fileno(), data) :]
        if rest:
            self._pending[0] = (rest, written)
            return
        self._pending.popleft()
        if not written.done():
            written.set_result(None)

    def _close_pipe(self) -> None:
        if not self._pipe.closed:
            self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()

    def _gone(self) -> ChildGone:
        return ChildGone(f"the process {self._program!r} no longer reads its input")
