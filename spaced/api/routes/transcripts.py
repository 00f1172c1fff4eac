"""Transcripts: read page by page, and exported as files."""


from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.domain.json_values import copy_object
from spaced.engine.transcripts import newest_items
from spaced.wire import requests, shapes

ROUTES = RouteTable("transcripts")


@ROUTES.get("/v1/sessions/{session_id}/items")
async def list_items(
    services: Services, *, session_id: str, query: requests.ItemRange
) -> shapes.ItemPage:
    """Return the newest items of a session, or the newest before one of them.

    `as_of` is the cursor of these items: a stream that begins there misses nothing.
    """
    await services.engine.sessions.get(session_id)
    page = await newest_items(services.storage, session_id, limit=query.limit, before=query.before)
    return shapes.ItemPage(
        items=tuple(copy_object(item) for item in page.items),
        before=page.before,
        as_of=services.streams.cursor(page.as_of),
    )
