"""A bound on how many turns run at once; who has to wait does so in the order of asking."""

import asyncio
from collections import deque


class TurnSlots:
    """Places for running turns."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take_now(self) -> bool:
        """Take a place if one is free and nobody waits for it."""
        if self._free <= 0 or self._waiting:
            return False
        self._free -= 1
        return True

    async def take(self) -> None:
        """Wait for a place and take it."""
        if self.take_now():
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.give_back()  # it was given just as its taker gave up
            raise

    def give_back(self) -> None:
        """Give a place to the next one who waits."""
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._free += 1
