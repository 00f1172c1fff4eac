"""One request and its answer, over a connection of its own.

`http.client` and not aiohttp: it is imported in a fraction of the time, and a command that asks
one thing should not wait longer for its tools than for the answer.
"""

import hashlib
import hmac
import http.client
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from spaced.client.place import Place
from spaced.errors import SpacedError
from spaced.refusals import DaemonGone, NoDaemon
from spaced.wire.problems import error_of

_FIRST_FAILURE: Final = 400
_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request.

    Attributes:
        target: path and query.
        body: JSON, or with another `content_type` anything.
        revision: what the change is meant for; it is refused at another one.
    """

    method: str
    target: str
    body: bytes | None = None
    content_type: str = _JSON
    revision: int | None = None


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, *, timeout: float) -> None:
        super().__init__("spaced", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.settimeout(self.timeout)
            self.sock.connect(self._path)
        except BaseException:
            self.sock.close()
            raise


def exchange(place: Place, request: HttpRequest, *, timeout: float) -> bytes:
    """Send a request and return the body of the answer.

    Args:
        timeout: in seconds, for each step that waits for the daemon.

    Raises:
        NoDaemon: nobody takes connections there, so nothing was sent.
        DaemonGone: the connection ended before the answer; the request may have been carried out.
        SpacedError: the daemon refused; it is the error that the daemon raised.
    """
    if place.socket is None:
        prove(place, timeout=timeout)
    return _exchange(place, request, timeout=timeout, token=place.token)


def prove(place: Place, *, timeout: float) -> None:
    """Make sure that whoever listens on a TCP port is the daemon that has our token.

    Raises:
        NoDaemon: it is not, or nobody listens.
    """
    challenge = secrets.token_hex(16)
    request = HttpRequest(method="GET", target=f"/v1/health?challenge={challenge}")
    stranger = NoDaemon(f"whoever listens on {place} is not the daemon of this data directory")
    try:
        answer = msgspec.json.decode(_exchange(place, request, timeout=timeout, token=""))
    except (msgspec.MsgspecError, SpacedError) as error:
        if isinstance(error, NoDaemon):
            raise
        raise stranger from error
    text = b"spaced-proof:" + challenge.encode()
    wanted = hmac.new(place.token.encode(), text, hashlib.sha256).hexdigest()
    proof = answer.get("proof") if isinstance(answer, dict) else None
    if not hmac.compare_digest(str(proof).encode(), wanted.encode()):
        raise stranger


def headers_of(request: HttpRequest, token: str) -> Mapping[str, str]:
    """Return the headers of a request."""
    headers = {"Accept": _JSON}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if request.body is not None:
        headers["Content-Type"] = request.content_type
    if request.revision is not None:
        headers["If-Match"] = f'"{request.revision}"'
    return headers


def read_answer(status: int, body: bytes) -> bytes:
    """Return the body of an answer, or raise the error that it tells of."""
    if status < _FIRST_FAILURE:
        return body
    try:
        document = msgspec.json.decode(body, type=dict[str, object])
    except msgspec.MsgspecError:
        document = {"detail": f"the daemon answered with the HTTP status {status}"}
    raise error_of(document)


def _exchange(place: Place, request: HttpRequest, *, timeout: float, token: str) -> bytes:
    connection = _connection(place, timeout)
    try:
        try:
            connection.connect()
        except OSError as error:
            raise NoDaemon(f"no daemon answers at {place}: {error.strerror or error}") from error
        try:
            connection.request(
                request.method, request.target, request.body, dict(headers_of(request, token))
            )
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise DaemonGone(f"the daemon at {place} went away before it answered") from error
        return read_answer(response.status, body)
    finally:
        connection.close()


def _connection(place: Place, timeout: float) -> http.client.HTTPConnection:
    if place.socket is not None:
        return _UnixConnection(place.socket, timeout=timeout)
    return http.client.HTTPConnection(place.host, place.port, timeout=timeout)
