"""The native API as an aiohttp application: reads requests, calls handlers, writes answers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from aiohttp import web
from aiohttp.typedefs import Middleware

from spaced.api.openapi import document
from spaced.api.problem_responses import problem_middleware
from spaced.api.routes import (
    agents,
    asks,
    blobs,
    control,
    events,
    health,
    maintenance,
    plugins,
    portable_files,
    profile_bindings,
    profiles,
    prompts,
    search,
    sessions,
    sync,
    transcripts,
    workflow_steps,
    workflows,
)
from spaced.api.routing import Reply, Route, RouteTable, all_routes, call, is_response, reader_of
from spaced.api.services import Services
from spaced.identifiers import accept
from spaced.refusals import InvalidRequest
from spaced.wire.requests import Request

LARGEST_BODY: Final = 8 * 1024 * 1024
"""Bytes of a JSON body; large content goes into blobs, which are streamed."""

TABLES: Final[tuple[RouteTable, ...]] = (
    health.ROUTES,
    sessions.ROUTES,
    transcripts.ROUTES,
    prompts.ROUTES,
    control.ROUTES,
    asks.ROUTES,
    # Before the profiles and workflows: `detected`, `bindings` and `export` are no ids of those.
    agents.ROUTES,
    profile_bindings.ROUTES,
    profiles.ROUTES,
    portable_files.ROUTES,
    workflows.ROUTES,
    workflow_steps.ROUTES,
    sync.ROUTES,
    search.ROUTES,
    events.ROUTES,
    plugins.ROUTES,
    blobs.ROUTES,
    maintenance.ROUTES,
)


def application(services: Services, *, middlewares: Sequence[Middleware] = ()) -> web.Application:
    """Return the application with all routes.

    Args:
        middlewares: what every request passes first, such as the access rules.
    """
    app = web.Application(
        middlewares=[problem_middleware, *middlewares], client_max_size=LARGEST_BODY
    )
    for route in all_routes(TABLES):
        app.router.add_route(route.method, route.path, _endpoint(route, services))
    app.router.add_get("/v1/openapi.json", _document(services), allow_head=False)
    return app


def _document(services: Services) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    content = msgspec.json.encode(document(TABLES, version=services.facts.version))

    async def openapi(request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(body=content, content_type="application/json")

    return openapi


def _endpoint(
    route: Route, services: Services
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    read = None if route.body is None else reader_of(route.body)

    async def endpoint(request: web.Request) -> web.StreamResponse:
        arguments = _arguments(route, request)
        if read is not None:
            arguments["body"] = _body(read, await request.read())
        reply = await call(route, services, arguments)
        if is_response(reply.value):
            return reply.value  # type: ignore[no-any-return]
        return await _send(request, reply, route.status)

    return endpoint


def _arguments(route: Route, request: web.Request) -> dict[str, object]:
    found = request.match_info
    arguments: dict[str, object] = {
        name: accept(found[name], what=name.removesuffix("_id").replace("_", " "))
        for name in route.names
    }
    if route.query is not None:
        arguments["query"] = _query(route.query, request)
    if route.takes_revision:
        arguments["revision"] = _revision(request)
    if route.takes_request:
        arguments["request"] = request
    return arguments


def _query(shape: type[Request], request: web.Request) -> Request:
    texts: dict[str, str] = {}
    for name, value in request.query.items():
        if name in texts:
            raise InvalidRequest(f"the query has {name[:80]!r} more than once")
        texts[name] = value
    try:
        return msgspec.convert(texts, shape, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"the query cannot be used: {error}") from error


def _body(read: Callable[[bytes], Request], content: bytes) -> Request:
    try:
        return read(content or b"{}")
    # Too deep a nesting and too long a number are not the decoder's own errors.
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise InvalidRequest(f"the body cannot be used: {error}") from error


def _revision(request: web.Request) -> int | None:
    """Return the revision that `If-Match` names; `*` and no header are any."""
    text = request.headers.get("If-Match", "*").strip()
    if text == "*":
        return None
    number = text.removeprefix('"').removesuffix('"')
    if not (number.isascii() and number.isdigit() and len(number) < len(str(2**53))):
        raise InvalidRequest(
            f"If-Match is {text[:80]!r}, not a revision",
            remedy='Send the ETag of the answer that you read, such as "3".',
        )
    return int(number)


async def _send(request: web.Request, reply: Reply[Any], status: int) -> web.StreamResponse:
    """Write an answer to its end, and only then let go on what it tells of."""
    try:
        response = _response(reply, status)
        await response.prepare(request)
        await response.write_eof()
    finally:
        reply.then()
    return response


def _response(reply: Reply[Any], status: int) -> web.Response:
    if reply.value is None:
        return web.Response(status=204, headers=dict(reply.headers))
    headers: Mapping[str, str] = {**_etag(reply.value), **reply.headers}
    body = msgspec.json.encode(reply.value)
    return web.Response(
        status=status, body=body, content_type="application/json", headers=dict(headers)
    )


def _etag(value: object) -> dict[str, str]:
    revision = getattr(value, "revision", None)
    return {} if revision is None else {"ETag": f'"{revision}"'}
