"""Event streams that go on by themselves: after a cut, a restart, or a lag."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Final

import aiohttp

from spaced.client.exchange import HttpRequest, headers_of, prove, read_answer
from spaced.client.place import Place
from spaced.client.sse import Frame, FrameReader
from spaced.refusals import DaemonGone, DaemonStopping, NoDaemon, TooManyStreams
from spaced.wire.problems import error_of

_STREAM: Final = "text/event-stream"
_PROBLEM: Final = "problem"
_SILENCE: Final = 50.0
"""Seconds without a byte after which a connection is dead: three heartbeats are missing."""

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
_PASSING: Final = (NoDaemon, DaemonGone, DaemonStopping, TooManyStreams)

Pause = Callable[[float], Awaitable[None]]


async def long_exchange(place: Place, request: HttpRequest, *, timeout: float) -> bytes:  # noqa: ASYNC109 - of the connection
    """Send a request whose answer may take long, and return the body of the answer.

    Raises:
        NoDaemon: nobody takes connections there, so nothing was sent.
        DaemonGone: the connection ended before the answer.
        SpacedError: the daemon refused.
    """
    await _prove(place)
    headers = headers_of(request, "" if place.socket is not None else place.token)
    try:
        async with (
            _session(place, aiohttp.ClientTimeout(total=timeout)) as session,
            session.request(
                request.method, place.url + request.target, data=request.body, headers=headers
            ) as response,
        ):
            return read_answer(response.status, await response.read())
    except aiohttp.ClientConnectorError as error:
        raise NoDaemon(f"no daemon answers at {place}: {error.strerror or error}") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise DaemonGone(f"the daemon at {place} went away before it answered") from error


async def follow(
    place: Place, target: str, *, after: str | None, patience: float | None, pause: Pause
) -> AsyncGenerator[Frame]:
    """Return the frames of a stream for ever, each durable one once and in order.

    Args:
        target: path and query.
        after: the cursor to go on from; `None` begins now.
        patience: seconds to wait for a daemon that is away; `None` waits for ever.
        pause: waits for some seconds.

    Raises:
        SpacedError: the stream cannot be had, the log cannot be read further, or the daemon was
            away for too long.
    """
    cursor = after
    away = 0.0
    wait = _FIRST_PAUSE
    while True:
        try:
            async with aclosing(_connect(place, target, cursor)) as frames:
                async for frame in frames:
                    away, wait = 0.0, _FIRST_PAUSE
                    cursor = _next_cursor(cursor, frame)
                    if frame.name == _PROBLEM:
                        raise error_of(frame.data)  # coming back would only meet it again
                    yield frame
        except _PASSING:
            if patience is not None and away >= patience:
                raise
        await pause(wait)
        away += wait
        wait = min(wait * 2, _LONGEST_PAUSE)


def _next_cursor(cursor: str | None, frame: Frame) -> str | None:
    if frame.cursor is not None:
        return frame.cursor
    # Without a cursor the stream began at this head, so a cut right now would go on from there.
    if cursor is None and frame.name == "hello":
        return str(frame.data["head"])
    return cursor


async def _connect(place: Place, target: str, cursor: str | None) -> AsyncGenerator[Frame]:
    """Return the frames of one connection, until it ends."""
    await _prove(place)
    token = "" if place.socket is not None else place.token
    headers = {**headers_of(HttpRequest(method="GET", target=target), token), "Accept": _STREAM}
    if cursor is not None:
        headers["Last-Event-ID"] = cursor
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=_SILENCE)
    reader = FrameReader()
    try:
        async with (
            _session(place, timeout) as session,
            session.get(place.url + target, headers=headers) as response,
        ):
            if response.status != 200:  # noqa: PLR2004 - the one status of a stream
                read_answer(response.status, await response.read())
            async for piece in response.content.iter_any():
                for frame in reader.feed(piece):
                    yield frame
    except aiohttp.ClientConnectorError as error:
        raise NoDaemon(f"no daemon answers at {place}: {error.strerror or error}") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise DaemonGone(f"the stream from {place} was cut") from error


async def _prove(place: Place) -> None:
    if place.socket is None:
        await asyncio.to_thread(prove, place, timeout=10.0)


def _session(place: Place, timeout: aiohttp.ClientTimeout) -> aiohttp.ClientSession:
    if place.socket is not None:
        connector: aiohttp.BaseConnector = aiohttp.UnixConnector(place.socket)
    else:
        connector = aiohttp.TCPConnector()
    return aiohttp.ClientSession(connector=connector, timeout=timeout)
