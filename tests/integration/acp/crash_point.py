"""A named point of the engine at which a life ends, as if its process had been killed there."""

import asyncio
from collections.abc import Callable

from spaced.storage.protocol import StoragePlace


class CrashPoint:
    """Passes every point but the one that it was armed for."""

    def __init__(self) -> None:
        self._name = ""
        self._capture: Callable[[], StoragePlace] | None = None
        self._left: asyncio.Future[StoragePlace] | None = None

    def arm(self, name: str, capture: Callable[[], StoragePlace]) -> None:
        """Let the next one who reaches a point die there.

        Args:
            capture: keeps what is written by then; nothing that comes later counts.
        """
        self._name, self._capture = name, capture
        self._left = asyncio.get_running_loop().create_future()

    async def left(self) -> StoragePlace:
        """Return what was written when the point was reached, once it is."""
        assert self._left is not None
        return await self._left

    def __call__(self, point: str) -> None:
        """Take that a point is reached."""
        if self._capture is None or point != self._name:
            return
        assert self._left is not None
        self._left.set_result(self._capture())
        self._capture = None
        raise asyncio.CancelledError  # whoever has reached the point goes no further
