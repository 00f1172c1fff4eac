"""Waits that end: with what was waited for, or with the injected clock."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from spaced.engine.parts import EngineParts
from spaced.errors import StorageFull

log = logging.getLogger(__name__)

_FIRST_DELAY_MS: Final = 1000
_LONGEST_DELAY_MS: Final = 30_000


async def until_written(parts: EngineParts, write: Callable[[], Awaitable[None]]) -> None:
    """Write what must be written, as soon as there is space for it.

    For what has happened already and only has to be told: the log must not differ from the world
    because a disk was full.
    """
    delay = _FIRST_DELAY_MS
    while True:
        try:
            await write()
        except StorageFull:
            log.warning("there is no space; trying again", extra={"event": "waiting-for-space"})
            await parts.clock.sleep(delay)
            delay = min(delay * 2, _LONGEST_DELAY_MS)
        else:
            return


async def within(
    parts: EngineParts, work: Callable[[], Awaitable[object]], limit_ms: int, *, name: str
) -> bool:
    """Wait for something for at most this long, and tell whether it ended.

    What has not ended by then is cancelled. What it raised is raised.
    """
    errors: list[Exception] = []

    async def awaited() -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - it is raised again below
            errors.append(error)

    doing = parts.tasks.start(awaited(), name=name)
    limit = parts.tasks.start(parts.clock.sleep(limit_ms), name=f"limit of {name}")
    try:
        await asyncio.wait({doing, limit}, return_when=asyncio.FIRST_COMPLETED)
        for error in errors:
            raise error
        return doing.done()
    finally:
        doing.cancel()
        limit.cancel()
