"""Every error becomes a problem document; what is no error of ours says little, and is logged."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec
from aiohttp import web

from spaced.errors import SpacedError
from spaced.refusals import (
    BodyTooLarge,
    MethodNotAllowed,
    TooManyStreams,
    Unauthorized,
    UnknownRoute,
)
from spaced.wire.problems import MEDIA_TYPE, document_of, status_of

log = logging.getLogger(__name__)

_SERVER_ERROR: Final = 500
_HEADERS: Final[Mapping[type[SpacedError], Mapping[str, str]]] = {
    Unauthorized: {"WWW-Authenticate": 'Bearer realm="spaced"'},
    TooManyStreams: {"Retry-After": "5"},
}


@web.middleware
async def problem_middleware(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Answer every error of a handler with its problem document."""
    try:
        return await handler(request)
    except SpacedError as error:
        return problem_response(error)
    except web.HTTPException as refused:
        return _refused(request, refused)
    except (ConnectionError, asyncio.CancelledError):
        raise  # the client has gone, so nobody reads an answer
    except Exception:
        log.exception(
            "%s %s failed", request.method, request.path, extra={"event": "request-failed"}
        )
        return problem_response(SpacedError("the daemon met a fault of its own with this request"))


def problem_response(error: SpacedError) -> web.Response:
    """Return the response that tells of an error."""
    status = status_of(error)
    if status >= _SERVER_ERROR:
        log.warning("%s: %s", error.code, error, extra={"event": "request-refused"})
    return web.Response(
        status=status,
        body=msgspec.json.encode(document_of(error)),
        content_type=MEDIA_TYPE,
        headers=dict(_HEADERS.get(type(error), {})),
    )


def _refused(request: web.Request, refused: web.HTTPException) -> web.Response:
    path = request.path[:200]
    if isinstance(refused, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(refused.allowed_methods))
        response = problem_response(
            MethodNotAllowed(f"{path} takes {allowed}, not {request.method[:40]}")
        )
        response.headers["Allow"] = allowed
        return response
    if isinstance(refused, web.HTTPRequestEntityTooLarge):
        return problem_response(BodyTooLarge("the body is over the limit of 8 MiB"))
    if isinstance(refused, web.HTTPNotFound):
        return problem_response(UnknownRoute(f"there is no route {path!r}"))
    status = refused.status
    error = SpacedError(f"the request was refused with the status {status}")
    response = problem_response(error)
    response.set_status(status)
    return response
