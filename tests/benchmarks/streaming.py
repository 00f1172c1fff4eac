"""Sessions that stream: text arrives in small pieces and goes to the log as the engine does it."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, suppress
from time import perf_counter
from types import TracebackType
from typing import Self

from spaced.clock import Clock, SystemClock
from spaced.domain.open_text import OpenText, Tail
from spaced.log.read_models.catalogue import OPEN_TAIL
from spaced.log.table import DeleteRow, PutRow, Row
from spaced.storage.protocol import Storage
from tests.benchmarks.chats import Chat, completed, grown, new_chat, opened
from tests.benchmarks.corpus import Corpus

_DELTA = 60
_EVERY_SECONDS = 0.05
_ITEM_LENGTH = 1000


class OpenMessage:
    """An agent's message while it grows: pieces to the log, tails to their own row."""

    def __init__(self, storage: Storage, chat: Chat, clock: Clock) -> None:
        self._storage = storage
        self._chat = chat
        self._clock = clock
        self._item_id = chat.new_item_id()
        self._text = OpenText()

    async def begin(self) -> None:
        """Record that the message exists."""
        await self._chat.append(opened(self._item_id))

    async def add(self, text: str) -> None:
        """Take what the agent sent, and write what is due."""
        for part in self._text.add(text, now=self._clock.now()):
            if isinstance(part, Tail):
                await self._storage.append([], [PutRow(table=OPEN_TAIL.name, row=self._row(part))])
            else:
                await self._chat.append(grown(self._item_id, part.text, offset=part.offset))

    async def end(self) -> None:
        """Record what is left and the end, and remove the tail."""
        rest = self._text.close()
        pieces = [grown(self._item_id, part.text, offset=part.offset) for part in rest]
        key = (self._chat.session_id, self._item_id, "content")
        tail = [DeleteRow(table=OPEN_TAIL.name, key=key)] if self._text.has_tail else []
        await self._chat.append(*pieces, completed(self._item_id), own_rows=tail)

    def _row(self, tail: Tail) -> Row:
        return {
            "session_id": self._chat.session_id,
            "item_id": self._item_id,
            "field": "content",
            "stream": self._chat.session_id,
            "offset": tail.offset,
            "text": tail.text,
        }


class Streams:
    """Many sessions that stream at the pace of a fast model, and can be made to stand still.

    Attributes:
        deltas: how many small pieces they have taken.
        seconds: how long they have been streaming.
    """

    def __init__(self, storage: Storage, number: int) -> None:
        self._storage = storage
        self._number = number
        self._is_moving = asyncio.Event()
        self._is_over = asyncio.Event()
        self._is_quiet = asyncio.Event()
        self._busy = 0
        self._since = 0.0
        self._tasks = AsyncExitStack()
        self.deltas = 0
        self.seconds = 0.0

    async def __aenter__(self) -> Self:
        """Open the sessions; they stand still."""
        group = await self._tasks.enter_async_context(asyncio.TaskGroup())
        for index in range(self._number):
            chat = await new_chat(self._storage, f"ses_stream{index:02d}")
            group.create_task(self._stream(chat, Corpus(seed=index)))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the sessions."""
        self._is_over.set()
        self._is_moving.set()
        await self._tasks.__aexit__(kind, error, trace)

    def go_on(self) -> None:
        """Let the sessions stream."""
        self._since = perf_counter()
        self._is_moving.set()

    async def stand_still(self) -> None:
        """Stop the sessions and wait until none is writing."""
        self._is_moving.clear()
        while self._busy:
            self._is_quiet.clear()
            await self._is_quiet.wait()
        self.seconds += perf_counter() - self._since

    async def _stream(self, chat: Chat, corpus: Corpus) -> None:
        clock = SystemClock()
        while not self._is_over.is_set():
            message = OpenMessage(self._storage, chat, clock)
            await self._work(message.begin())
            for part in deltas(corpus.around(_ITEM_LENGTH), _DELTA):
                await self._tick()
                self.deltas += 1
                await self._work(message.add(part))
            await self._work(message.end())

    async def _work(self, work: Coroutine[object, object, None]) -> None:
        await self._is_moving.wait()
        self._busy += 1
        try:
            await work
        finally:
            self._busy -= 1
            self._is_quiet.set()

    async def _tick(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_EVERY_SECONDS):
                await self._is_over.wait()


def deltas(text: str, size: int) -> Iterator[str]:
    """Cut a text into the pieces in which an agent sends it."""
    for start in range(0, len(text), size):
        yield text[start : start + size]
