"""Gates: places where a script waits for a test that runs in the same process."""

import asyncio
from collections import defaultdict


class Gates:
    """Each gate is closed until it is opened once; whoever waits needs no order of the two."""

    def __init__(self) -> None:
        self._opened: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._reached: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    def open(self, name: str) -> None:
        """Let everybody through, now and later."""
        self._opened[name].set()

    async def reached(self, name: str) -> None:
        """Return once a script has come to the gate."""
        await self._reached[name].wait()

    async def pass_through(self, name: str) -> None:
        """Wait as a script does."""
        self._reached[name].set()
        await self._opened[name].wait()
