"""The reading ends of a child's pipes, on callbacks of the event loop: no task, no thread.

Output waits in the pipe, and so its writer waits, while nobody takes what was read; error output is
always read, and only its end is kept.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from typing import IO, Final

_BLOCK: Final = 64 * 1024
_FULL: Final = 4 * _BLOCK
_LARGEST_PIPE: Final = 1024 * 1024
RING_SIZE: Final = 64 * 1024


class PipeReader:
    """Calls `feed` with each block that comes, and with an empty one at the end."""

    def __init__(self, pipe: IO[bytes], feed: Callable[[bytes], None]) -> None:
        self._pipe = pipe
        self._feed = feed
        self._loop = asyncio.get_running_loop()
        os.set_blocking(pipe.fileno(), False)
        self.resume()

    def resume(self) -> None:
        """Read what comes."""
        if not self._pipe.closed:
            self._loop.add_reader(self._pipe.fileno(), self._read)

    def pause(self) -> None:
        """Leave what comes in the pipe."""
        if not self._pipe.closed:
            self._loop.remove_reader(self._pipe.fileno())

    def drain(self) -> None:
        """Read what is there, as much as a pipe can hold: somebody may write without an end."""
        read = 0
        while read < _LARGEST_PIPE and (length := self._read()):
            read += length

    def close(self) -> None:
        """Read what is there and wait for no more, whoever still holds the other end."""
        self.drain()
        self._end()

    def _read(self) -> int:
        """Read a block, and return its length; 0: there is none now, or none any more."""
        if self._pipe.closed:
            return 0
        try:
            block = os.read(self._pipe.fileno(), _BLOCK)
        except BlockingIOError:
            return 0
        if block:
            self._feed(block)
        else:
            self._end()
        return len(block)

    def _end(self) -> None:
        if not self._pipe.closed:
            self._loop.remove_reader(self._pipe.fileno())
            self._pipe.close()
            self._feed(b"")


class Output:
    """What was read and not yet taken; reading pauses while that is much."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._blocks: deque[bytes] = deque()
        self._size = 0
        self._has_ended = False
        self._news = asyncio.Event()
        self._reader = PipeReader(pipe, self._feed)

    async def take(self) -> bytes:
        """Return the next block; an empty one is the end."""
        while not self._blocks:
            if self._has_ended:
                return b""
            self._news.clear()
            await self._news.wait()
        block = self._blocks.popleft()
        if self._size >= _FULL > self._size - len(block):
            self._reader.resume()
        self._size -= len(block)
        return block

    def close(self) -> None:
        """End it with what the pipe still holds; that can be taken afterwards."""
        self._reader.close()

    def _feed(self, block: bytes) -> None:
        if block:
            self._blocks.append(block)
            self._size += len(block)
        else:
            self._has_ended = True
        if self._size >= _FULL:
            self._reader.pause()
        self._news.set()


class ErrorOutput:
    """The last 64 KiB of what a child has written to its error output."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._ring = bytearray()
        self._reader = PipeReader(pipe, self._feed)

    def text(self) -> str:
        """Return it; bytes that are no text are replaced."""
        return self._ring.decode(errors="replace")

    def drain(self) -> None:
        """Read what the pipe holds now."""
        self._reader.drain()

    def close(self) -> None:
        """End it with what the pipe still holds."""
        self._reader.close()

    def _feed(self, block: bytes) -> None:
        self._ring += block
        del self._ring[:-RING_SIZE]
