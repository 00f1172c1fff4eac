"""A clock that a test moves by hand."""

import asyncio
from heapq import heappop, heappush
from itertools import count
from typing import Final

from spaced.clock import Timestamp

START: Final = Timestamp(1_796_117_400_000)
"""2026-12-01T09:30:00.000Z."""


class FakeClock:
    """Stands still until it is moved; it may be set back, as a machine's clock can be."""

    def __init__(self, start: int = START) -> None:
        self._now = Timestamp(start)
        self._passed = 0
        self._order = count()
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []

    def now(self) -> Timestamp:
        """Return the time that the test has set."""
        return self._now

    async def sleep(self, milliseconds: int) -> None:
        """Return once the clock was moved forward by this much in all."""
        if milliseconds <= 0:
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._sleepers, (self._passed + milliseconds, next(self._order), woken))
        await woken

    @property
    def sleepers(self) -> int:
        """How many waits have neither ended nor been given up."""
        return sum(not woken.done() for _, _, woken in self._sleepers)

    def advance(self, *, milliseconds: int = 0, seconds: int = 0) -> None:
        """Move the time; a negative amount moves it back, which no sleeper notices.

        Sleepers whose time has come are woken in the order of their times; they run when the
        caller waits for something.
        """
        amount = milliseconds + seconds * 1000
        self._now = Timestamp(self._now + amount)
        self._passed += max(amount, 0)
        while self._sleepers and self._sleepers[0][0] <= self._passed:
            _, _, woken = heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)
