"""Transcripts: read page by page, and exported as files."""

from collections.abc import AsyncIterator

from aiohttp import web

from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.domain.json_values import copy_object
from spaced.engine.exports.json_export import export_json
from spaced.engine.exports.markdown_export import export_markdown
from spaced.engine.exports.redacting import UNREDACTED
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


@ROUTES.get("/v1/sessions/{session_id}/export", media_types=("application/json", "text/markdown"))
async def export_session(
    services: Services, *, session_id: str, query: requests.ExportForm, request: web.Request
) -> web.StreamResponse:
    """Return a chat as a file: JSON with everything of it, or Markdown to read.

    What looks like a secret is replaced, unless `redacted` is false; only then can the JSON be
    folded again, since a secret may lie across two events.
    """
    redactor = services.redactor if query.redacted else UNREDACTED
    if query.format == "json":
        pieces = export_json(services.storage, session_id, redactor=redactor)
        return await _send(request, pieces, "application/json", f"{session_id}.json")
    texts = export_markdown(services.storage, session_id, redactor=redactor)
    return await _send(request, _encoded(texts), "text/markdown", f"{session_id}.md")


async def _encoded(texts: AsyncIterator[str]) -> AsyncIterator[bytes]:
    async for text in texts:
        yield text.encode()


async def _send(
    request: web.Request, pieces: AsyncIterator[bytes], media_type: str, name: str
) -> web.StreamResponse:
    # The first piece comes before the headers, so that a refusal can still be one.
    first = await anext(pieces, b"")
    response = web.StreamResponse(
        headers={
            "Content-Type": f"{media_type}; charset=utf-8",
            "Content-Disposition": f'attachment; filename="{name}"',
            "X-Content-Type-Options": "nosniff",
        }
    )
    await response.prepare(request)
    await response.write(first)
    async for piece in pieces:
        await response.write(piece)
    await response.write_eof()
    return response
