"""Blobs: large content, named by its digest, for prompts to name."""

from typing import Final

from aiohttp import web

from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.refusals import BodyTooLarge
from spaced.wire import shapes

ROUTES = RouteTable("blobs")

LARGEST_BLOB: Final = 64 * 1024 * 1024
_CONTENT: Final = "application/octet-stream"


@ROUTES.post("/v1/blobs", status=201, raw_body=_CONTENT)
async def store_blob(services: Services, *, request: web.Request) -> shapes.Blob:
    """Store content durably under the digest of its bytes; storing it again is free."""
    content = bytearray()
    async for chunk in request.content.iter_any():
        content += chunk
        if len(content) > LARGEST_BLOB:
            raise BodyTooLarge(
                f"the content is over the limit of {LARGEST_BLOB // 1024**2} MiB",
                remedy="Name the file by its path instead.",
            )
    blob_id = await services.storage.put_blob(bytes(content))
    return shapes.Blob(id=blob_id, bytes=len(content))


@ROUTES.get("/v1/blobs/{blob_id}", media_types=(_CONTENT,))
async def get_blob(services: Services, *, blob_id: str) -> web.Response:
    """Return stored content."""
    content = await services.storage.get_blob(blob_id)
    # Never shown by a browser as what it claims to be.
    headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
    return web.Response(body=content, content_type=_CONTENT, headers=headers)
