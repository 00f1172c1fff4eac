"""Events: as streams that never lose one, or page by page."""

import asyncio
from contextlib import aclosing

from aiohttp import web

from spaced.api.presenting import event_shape
from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.api.streams.filters import EventFilter
from spaced.api.streams.replay import Replay
from spaced.api.streams.subscription import Subscription
from spaced.refusals import BadCursor
from spaced.wire import requests, shapes
from spaced.wire.cursors import Cursor, read_cursor

ROUTES = RouteTable("events")

_STREAM = "text/event-stream"
_HEADERS = {
    "Content-Type": _STREAM,
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}


@ROUTES.get("/v1/events", media_types=(_STREAM,))
async def all_events(
    services: Services, *, query: requests.LogRange, request: web.Request
) -> shapes.EventPage | web.StreamResponse:
    """Stream the events of the whole log (`Accept: text/event-stream`), or return a page of them.

    A stream goes on behind `Last-Event-ID`, or behind `after`, or begins now.
    """
    wanted = EventFilter(stream=query.stream, kinds=_kinds(query))
    return await _answer(services, query, request, wanted)


@ROUTES.get("/v1/sessions/{session_id}/events", media_types=(_STREAM,))
async def session_events(
    services: Services, *, session_id: str, query: requests.EventRange, request: web.Request
) -> shapes.EventPage | web.StreamResponse:
    """Stream the events of a session (`Accept: text/event-stream`), or return a page of them.

    They are those of its run that are about it, and those that change the run or its primary.
    """
    session = await services.engine.sessions.get(session_id)
    wanted = EventFilter(stream=session.run_id, session_id=session_id, kinds=_kinds(query))
    return await _answer(services, query, request, wanted)


async def _answer(
    services: Services, query: requests.EventRange, request: web.Request, wanted: EventFilter
) -> shapes.EventPage | web.StreamResponse:
    if _STREAM in request.headers.get("Accept", ""):
        # What the client saw last beats the query, which is that of its first request.
        text = request.headers.get("Last-Event-ID", query.after)
        after = None if text is None else read_cursor(text)
        return await _stream(services, services.streams.subscribe(wanted, after), request)
    return await _page(services, query, wanted)


async def _stream(
    services: Services, subscription: Subscription, request: web.Request
) -> web.StreamResponse:
    stall = services.streams.settings.stall_ms / 1000
    response = web.StreamResponse(headers=_HEADERS)
    try:
        await response.prepare(request)
        async with aclosing(subscription.chunks()) as chunks:
            async for chunk in chunks:
                async with asyncio.timeout(stall):
                    await response.write(chunk)
        async with asyncio.timeout(stall):
            await response.write_eof()
    except ConnectionError:
        pass  # the client has gone, as clients of streams do
    except TimeoutError:
        # It reads nothing, so an orderly end would wait for it for ever.
        if request.transport is not None:
            request.transport.abort()
    finally:
        # Not by the generator alone: one that was never asked for a chunk ends without a word.
        services.streams.forget(subscription)
    return response


async def _page(
    services: Services, query: requests.EventRange, wanted: EventFilter
) -> shapes.EventPage:
    log_id, head = services.storage.log_id, services.streams.head
    after = Cursor(log_id=log_id, position=0) if query.after is None else read_cursor(query.after)
    if after.log_id != log_id or after.position > head:
        raise BadCursor(
            f"the cursor {str(after)!r} is not one of this log",
            remedy="The log was restored since; read from its beginning, without a cursor.",
        )
    replay = Replay(services.storage, wanted, after.position)
    events = await replay.next_page(head, limit=query.limit)
    return shapes.EventPage(
        events=tuple(event_shape(event, log_id) for event in events),
        next_cursor=services.streams.cursor(replay.position),
        more=replay.position < head,
    )


def _kinds(query: requests.EventRange) -> frozenset[str] | None:
    if query.kinds is None:
        return None
    return frozenset(kind.strip() for kind in query.kinds.split(",") if kind.strip())
