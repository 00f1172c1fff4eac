"""Listens to a hub as a client would, without a connection in between."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Final

from spaced.api.streams.filters import EventFilter
from spaced.api.streams.hub import EventHub
from spaced.client.sse import Frame, FrameReader
from spaced.wire.cursors import Cursor, read_cursor

PATIENCE: Final = 20


async def frames_until(
    hub: EventHub, name: str, *, wanted: EventFilter | None = None, after: str | None = None
) -> list[Frame]:
    """Return the frames of a new client, up to the first of this name."""
    cursor = None if after is None else read_cursor(after)
    subscription = hub.subscribe(wanted or EventFilter(), cursor)
    heard: list[Frame] = []
    reader = FrameReader()
    async with asyncio.timeout(PATIENCE), aclosing(subscription.chunks()) as chunks:
        async for chunk in chunks:
            for frame in reader.feed(chunk):
                heard.append(frame)
                if frame.name == name:
                    return heard
    return heard


def positions(frames: Sequence[Frame]) -> list[int]:
    """Return the positions of the durable events among frames."""
    told = [frame for frame in frames if "version" in frame.data]
    return [read_cursor(str(frame.cursor)).position for frame in told]


def cursor_at(hub: EventHub, position: int) -> str:
    """Return the cursor of a position of the hub's log."""
    return str(Cursor(log_id=hub.log_id, position=position))
