"""Tells when something in a folder has changed, also after the folder itself was away."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

from watchfiles import awatch

from spaced.clock import Clock

log = logging.getLogger(__name__)

QUIET_MS: Final = 50
"""A run begins once nothing has changed for this long, so that a checkout is seen as one change."""
LONGEST_WAIT_MS: Final = 400
"""It begins at the latest this long after the first change."""
AGAIN_MS: Final = 1000
"""How often a folder that is away is looked for, and one that is polled is looked at."""


async def watch(
    path: str, look: Callable[[], Awaitable[None]], clock: Clock, *, polling: bool
) -> None:
    """Call `look` now, and after every change of a folder's files, until this is cancelled.

    Args:
        look: must not raise.
        polling: look at the files regularly, where the file system tells of no changes.
    """
    while True:
        before = _identity(path)
        if before is None:
            await look()
            while _identity(path) is None:
                await clock.sleep(AGAIN_MS)
            continue
        changes = aiter(_changes(path, polling=polling))
        try:
            # Looked at after the watch is set up: a change in between is seen by one of both.
            await look()
            async for _ in changes:
                await look()
                if _identity(path) != before:
                    break  # another folder of this name: the old one is no longer watched
        except OSError as error:
            log.info("%s cannot be watched: %s", path, error, extra={"event": "watch-failed"})
            await clock.sleep(AGAIN_MS)


def _changes(path: str, *, polling: bool) -> AsyncIterator[object]:
    return awatch(
        path,
        watch_filter=None,
        step=QUIET_MS,
        debounce=LONGEST_WAIT_MS,
        rust_timeout=0,  # it wakes up for changes and for nothing else
        force_polling=polling,
        poll_delay_ms=AGAIN_MS,
        recursive=False,
    )


def _identity(path: str) -> tuple[int, int] | None:
    try:
        facts = Path(path).stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino
