"""Sessions whose agents stream: text arrives in small pieces, and goes on its real way."""

import asyncio
import random
from contextlib import suppress
from time import perf_counter

from tests.benchmarks.corpus import Corpus
from tests.benchmarks.engines import Host, Step

_PIECE = 60
_EVERY_SECONDS = 0.05
_MESSAGE_LENGTH = 1000
_MESSAGES = 120


class Streams:
    """Many sessions that stream at the pace of a fast model, and can be made to stand still.

    Attributes:
        pieces: how many small pieces they have sent.
        seconds: how long they have been streaming.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._random = random.Random(11)
        self._may_go = asyncio.Event()
        self._has_arrived = asyncio.Event()
        self._waiting = 0
        self._since = 0.0
        self._never = asyncio.Event()
        self.pieces = 0
        self.seconds = 0.0

    async def before_text(self) -> None:
        """Let an agent wait for its next piece's time; a host's hook."""
        self._waiting += 1
        self._has_arrived.set()
        await self._may_go.wait()
        self._waiting -= 1
        with suppress(TimeoutError):
            # Not all at the same moment, as it would be since all of them went on at one.
            async with asyncio.timeout(self._random.uniform(0, 2 * _EVERY_SECONDS)):
                await self._never.wait()
        self.pieces += 1

    async def begin(self, host: Host) -> None:
        """Start the sessions' turns; they stand still before their first piece."""
        for number in range(self._number):
            session_id = await host.chat(_messages(Corpus(seed=number)))
            await host.prompt(session_id)
        await self._all_wait()

    def go_on(self) -> None:
        """Let the sessions stream."""
        self._since = perf_counter()
        self._may_go.set()

    async def stand_still(self) -> None:
        """Stop the sessions and wait until all that they sent was taken."""
        self._may_go.clear()
        await self._all_wait()
        self.seconds += perf_counter() - self._since

    def let_go(self) -> None:
        """Let the sessions do what they like, so that they can be closed."""
        self._may_go.set()

    async def _all_wait(self) -> None:
        while self._waiting < self._number:
            self._has_arrived.clear()
            await self._has_arrived.wait()


def _messages(corpus: Corpus) -> list[Step]:
    texts = [corpus.around(_MESSAGE_LENGTH) for _ in range(_MESSAGES)]
    return [{"do": "say", "text": text, "piece_length": _PIECE} for text in texts]
