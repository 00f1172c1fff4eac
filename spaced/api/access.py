"""Who may speak to the daemon: decided for each request, before anything of it is looked at.

On the Unix socket the peer's user decides. On TCP loopback is no boundary: web pages, other users
and containers get there, so `Host`, then the origin, then the token decide, in this order.
"""

import base64
import binascii
import hmac
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from os import getuid
from socket import AF_UNIX, socket
from typing import Final, cast

from aiohttp import web
from aiohttp.typedefs import Middleware

from spaced.api.peers import peer_of
from spaced.refusals import (
    ForeignOrigin,
    PeerRefused,
    Unauthorized,
    UnsupportedContent,
    WrongHost,
)

log = logging.getLogger(__name__)

_WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_JSON: Final = "application/json"
_RAW: Final = "application/octet-stream"
_ALLOWED_HEADERS: Final = "Authorization, Content-Type, If-Match, Last-Event-ID"
_ALLOWED_METHODS: Final = "GET, POST, PUT, PATCH, DELETE"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRules:
    """What is let in.

    Attributes:
        token: opens TCP, as `Bearer`, or as the password of `Basic`.
        hosts: the exact values of `Host` that are served over TCP, in lower case.
        origins: of web pages that may speak to the daemon, besides its own.
        open_paths: need no token.
        raw_body_paths: take `application/octet-stream` instead of JSON.
    """

    token: str
    hosts: frozenset[str]
    origins: frozenset[str] = frozenset()
    own_uid: int = getuid()
    open_paths: frozenset[str] = frozenset({"/v1/health"})
    raw_body_paths: frozenset[str] = frozenset({"/v1/blobs"})


def access_middleware(rules: Callable[[], AccessRules]) -> Middleware:
    """Return what every request passes first.

    Args:
        rules: asked for each request, since a free port is known only once it is open.
    """

    @web.middleware
    async def pass_access(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        now = rules()
        if _is_unix(request):
            _check_peer(request, now)
        else:
            preflight = _check_tcp(request, now)
            if preflight is not None:
                return preflight
        _check_content(request, now)
        return await handler(request)

    return pass_access


def announce_origin(rules: Callable[[], AccessRules]) -> Callable[..., Awaitable[None]]:
    """Return what adds the headers by which a trusted page may read an answer.

    For the application's `on_response_prepare`: a stream is on its way before a middleware sees it.
    """

    async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
        origin = request.headers.get("Origin")
        if origin is not None and origin in rules().origins and not _is_unix(request):
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Vary"] = "Origin"

    return add_headers


def _connection(request: web.Request) -> socket | None:
    transport = request.transport
    # Asyncio's own wrapper, which has what a socket tells of itself.
    return None if transport is None else cast("socket | None", transport.get_extra_info("socket"))


def _is_unix(request: web.Request) -> bool:
    connection = _connection(request)
    return connection is not None and connection.family == AF_UNIX


def _check_peer(request: web.Request, rules: AccessRules) -> None:
    connection = _connection(request)
    peer = None if connection is None else peer_of(connection)
    if peer is not None and peer.uid != rules.own_uid:
        log.warning(
            "refused a process of another user: uid %d, pid %d",
            peer.uid,
            peer.pid,
            extra={"event": "peer-refused"},
        )
        raise PeerRefused(f"this socket is for the user {rules.own_uid}, not for {peer.uid}")


def _check_tcp(request: web.Request, rules: AccessRules) -> web.Response | None:
    """Check everything that TCP needs; returns the answer to a preflight that is allowed."""
    _check_host(request, rules)
    is_trusted = _check_origin(request, rules)
    if request.method == "OPTIONS" and is_trusted:
        return web.Response(
            status=204,
            headers={
                "Access-Control-Allow-Methods": _ALLOWED_METHODS,
                "Access-Control-Allow-Headers": _ALLOWED_HEADERS,
                "Access-Control-Max-Age": "600",
            },
        )
    if "token" in request.query or "access_token" in request.query:
        raise Unauthorized(
            "a token in an address is not taken: addresses are kept in histories and logs"
        )
    if request.path not in rules.open_paths:
        _check_token(request, rules)
    return None


def _check_host(request: web.Request, rules: AccessRules) -> None:
    hosts = request.headers.getall("Host", [])
    # A request line with a whole address names a host too; no client of ours sends one.
    is_path = request.raw_path.startswith("/")
    if len(hosts) != 1 or hosts[0] not in rules.hosts or not is_path:
        shown = ", ".join(repr(host[:80]) for host in hosts) or "none"
        raise WrongHost(f"the daemon is not reached under the host {shown}")


def _check_origin(request: web.Request, rules: AccessRules) -> bool:
    """Refuse pages of other origins; tells whether it is a trusted one of another origin."""
    origins = request.headers.getall("Origin", [])
    own = {f"http://{host}" for host in rules.hosts}
    is_trusted = len(origins) == 1 and origins[0] in rules.origins
    if origins and not is_trusted and (len(origins) > 1 or origins[0] not in own):
        raise ForeignOrigin(f"a page of the origin {origins[0][:80]!r} may not speak to the daemon")
    site = request.headers.get("Sec-Fetch-Site", "none")
    if site not in ("none", "same-origin") and not is_trusted:
        raise ForeignOrigin(f"a page of another site may not speak to the daemon ({site[:40]!r})")
    return is_trusted


def _check_token(request: web.Request, rules: AccessRules) -> None:
    credentials = request.headers.getall("Authorization", [])
    if len(credentials) != 1:
        raise Unauthorized("the request has no credential")
    scheme, _, given = credentials[0].partition(" ")
    token = given.strip()
    if scheme.lower() == "basic":
        token = _password(token)
    elif scheme.lower() != "bearer":
        raise Unauthorized("the request's credential is neither Bearer nor Basic")
    wanted = rules.token.encode()
    if not wanted or not hmac.compare_digest(token.encode("utf-8", "replace"), wanted):
        raise Unauthorized("the request's token is not the daemon's")


def _password(credential: str) -> str:
    try:
        pair = base64.b64decode(credential, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
    return pair.partition(":")[2]


def _check_content(request: web.Request, rules: AccessRules) -> None:
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding != "identity":
        raise UnsupportedContent(f"the body is encoded as {encoding[:40]!r}")
    if request.method not in _WRITES or not request.can_read_body:
        return
    wanted = _RAW if request.path in rules.raw_body_paths else _JSON
    charset = (request.charset or "utf-8").lower()
    if request.content_type != wanted or charset not in ("utf-8", "utf8"):
        found = request.headers.get("Content-Type", "none")
        raise UnsupportedContent(
            f"the body's type is {found[:80]!r}, not {wanted}",
            remedy=f"Send it with `Content-Type: {wanted}`.",
        )
