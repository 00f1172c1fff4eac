"""Reads lines from a pipe, a file or a terminal without blocking anything else.

An event loop cannot wait for files, and a thread that blocks in a read cannot be ended. So a thread
waits for the input and for a pipe of ours at once, and only when somebody wants a line.
"""

import asyncio
import codecs
import os
import select
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Self

_PIECE: Final = 64 * 1024


class InputLines:
    """The lines of a file descriptor, which stays open."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._whole: deque[str] = deque()
        self._rest = ""
        self._is_at_end = False
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="input")
        self._wake_read, self._wake_write = os.pipe()

    def __enter__(self) -> Self:
        """Begin to read."""
        return self

    def __exit__(self, *_: object) -> None:
        """End whatever waits for input."""
        os.write(self._wake_write, b"\n")
        self._executor.shutdown(wait=True)
        os.close(self._wake_read)
        os.close(self._wake_write)

    async def next(self) -> str | None:
        """Return the next line, without its end; `None` at the end of the input."""
        loop = asyncio.get_running_loop()
        while not self._whole and not self._is_at_end:
            self._take(await loop.run_in_executor(self._executor, self._read))
        if self._whole:
            return self._whole.popleft()
        rest, self._rest = self._rest, ""
        return rest or None

    def _read(self) -> bytes:
        ready, _, _ = select.select([self._source, self._wake_read], [], [])
        if self._wake_read in ready:
            return b""
        try:
            return os.read(self._source, _PIECE)
        except OSError:  # the terminal is gone
            return b""

    def _take(self, piece: bytes) -> None:
        self._is_at_end = not piece
        text = self._rest + self._decoder.decode(piece, final=self._is_at_end)
        *whole, self._rest = text.split("\n")
        self._whole.extend(line.removesuffix("\r") for line in whole)
