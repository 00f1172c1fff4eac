"""What one client hears: first what it has missed, then what happens, until it or we go away."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final, Protocol

from spaced.api.streams import frames
from spaced.api.streams.derived import frames_of
from spaced.api.streams.filters import EventFilter
from spaced.api.streams.replay import Replay
from spaced.errors import SpacedError
from spaced.storage.protocol import Storage
from spaced.wire.cursors import Cursor
from spaced.wire.problems import document_of

_CHUNK: Final = 64 * 1024


class Source(Protocol):
    """Where a client's frames come from."""

    @property
    def head(self) -> int:
        """The position of the newest event that was announced."""
        ...

    @property
    def log_id(self) -> str:
        """The log that every cursor is of."""
        ...

    @property
    def longest_queue(self) -> int:
        """The most bytes that may wait for one client."""
        ...

    def attach(self, subscription: "Subscription") -> bytes:
        """Put what is announced from now on; returns what is going on right now."""
        ...

    def forget(self, subscription: "Subscription") -> None:
        """Let go of a client that listens no more."""
        ...

    def cursor(self, position: int) -> str:
        """Return the cursor of a position."""
        ...

    def heartbeat(self, position: int) -> bytes:
        """Return the frame that says up to where the log was looked through."""
        ...


class Subscription:
    """The frames for one client, in their order.

    Attributes:
        wanted: what it wants to hear.
    """

    def __init__(
        self, source: Source, storage: Storage, wanted: EventFilter, after: Cursor | None
    ) -> None:
        self.wanted = wanted
        self._source = source
        self._storage = storage
        self._after = after
        self._waiting: list[bytes] = []
        self._size = 0
        self._last: bytes | None = None
        self._changed = asyncio.Event()

    def put(self, made: bytes) -> None:
        """Let a frame wait for the client; one who lets too many wait is dropped."""
        if self._last is not None:
            return
        self._size += len(made)
        if self._size > self._source.longest_queue:
            self.lag()
        else:
            self._waiting.append(made)
            self._changed.set()

    def lag(self) -> None:
        """Drop a client that did not keep up; it comes back with its cursor and misses nothing."""
        self._waiting.clear()
        self.end(frames.told(frames.LAGGED, {"reason": "too slow"}))

    def end(self, last: bytes) -> None:
        """End with a last frame, behind what waits."""
        if self._last is None:
            self._last = last
            self._source.forget(self)
            self._changed.set()

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Return frames as they come, several in a chunk; the caller's pace is the client's."""
        try:
            position, first = self._begin()
            yield first
            async with aclosing(self._missed(position)) as missed:
                async for chunk in missed:
                    yield chunk
            while True:
                await self._changed.wait()
                self._changed.clear()
                chunk = b"".join(self._waiting)
                self._waiting.clear()
                self._size = 0
                if self._last is not None:
                    yield chunk + self._last
                    return
                yield chunk
        finally:
            self._source.forget(self)

    def _begin(self) -> tuple[int, bytes]:
        """Return where the client goes on, and what it is told first."""
        source, after = self._source, self._after
        head = source.cursor(source.head)
        hello = frames.told(frames.HELLO, {"log": source.log_id, "head": head})
        if after is None:
            return source.head, hello
        if after.log_id == source.log_id and after.position <= source.head:
            return after.position, hello
        reason = "beyond-the-head" if after.log_id == source.log_id else "another-log"
        # The id makes a client that only follows ids forget the cursor that is of no use.
        reset = frames.told(frames.RESET, {"reason": reason, "head": head}, head)
        return source.head, hello + reset

    async def _missed(self, position: int) -> AsyncGenerator[bytes]:
        """Return what the log has behind a position, then what is going on; ends attached."""
        replay = Replay(self._storage, self.wanted, position)
        while self._last is None and replay.position < self._source.head:
            try:
                found = await replay.next_page(self._source.head)
            except SpacedError as error:
                self.end(frames.told(frames.PROBLEM, document_of(error)))
                return
            for chunk in _chunks(
                [frames_of(e, self._source.log_id, self.wanted.kinds) for e in found]
            ):
                yield chunk
            if not found:
                yield self._source.heartbeat(replay.position)
        if self._last is None:
            yield self._source.attach(self)


def _chunks(made: Sequence[bytes]) -> Sequence[bytes]:
    """Gather frames, so that a client that stalls holds little."""
    chunks: list[bytes] = []
    gathered: list[bytes] = []
    size = 0
    for one in made:
        gathered.append(one)
        size += len(one)
        if size >= _CHUNK:
            chunks.append(b"".join(gathered))
            gathered, size = [], 0
    return [*chunks, b"".join(gathered)] if gathered else chunks
