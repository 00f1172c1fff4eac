"""Follows a stream over cuts and restarts, and says when the daemon is away."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, TypeAlias

from spaced.client.client import Client
from spaced.client.sse import Frame
from spaced.clock import Clock
from spaced.errors import SpacedError
from spaced.refusals import DaemonGone, DaemonStopping, NoDaemon, TooManyStreams

PASSING: Final = (NoDaemon, DaemonGone, DaemonStopping, TooManyStreams)
"""What goes by without anybody doing anything about the request."""

_FIRST_PAUSE_MS: Final = 50
_LONGEST_PAUSE_MS: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """The daemon cannot be reached; it is looked for until it is there."""

    why: SpacedError


Told: TypeAlias = Frame | Away


async def follow(
    client: Client,
    session_id: str | None,
    *,
    after: str | None,
    clock: Clock,
    kinds: Sequence[str] | None = None,
) -> AsyncGenerator[Told]:
    """Return the frames of a stream for ever, each durable one once and in order.

    A connection that is cut and comes back at once is not worth a word; `Away` comes once for each
    time that it does not.

    Args:
        after: the cursor to go on from; `None` begins now.

    Raises:
        SpacedError: the stream cannot be had.
    """
    cursor, pause, failures = after, _FIRST_PAUSE_MS, 0
    while True:
        try:
            stream = client.events(session_id, after=cursor, kinds=kinds, patience=0.0)
            async with aclosing(stream) as frames:
                async for frame in frames:
                    pause, failures = _FIRST_PAUSE_MS, 0
                    cursor = _behind(cursor, frame)
                    yield frame
        except PASSING as error:
            failures += 1
            away = Away(why=error)
        if failures == 2:  # noqa: PLR2004 - it was cut, and it is not there again
            yield away
        await clock.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_MS)


def _behind(cursor: str | None, frame: Frame) -> str | None:
    if frame.cursor is not None:
        return frame.cursor
    # Without a cursor the stream began at this head, so a cut right now would go on from there.
    if cursor is None and frame.name == "hello":
        return str(frame.data["head"])
    return cursor
