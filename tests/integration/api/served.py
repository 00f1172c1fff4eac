"""The real application behind the real rules, on a socket and on both kinds of TCP."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from spaced.api.access import AccessRules, access_middleware, announce_origin
from spaced.api.application import application
from spaced.api.listeners import RUNNER_OPTIONS, Listeners, hosts_of
from spaced.api.slow_heads import SlowHeads
from tests.integration.api.api_house import TOKEN, ApiHouse

PAGE: Final = "https://page.example"
_PATIENCE: Final = 10


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back over a connection."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The code of a problem document."""
        return str(json.loads(self.body)["code"])


@dataclass(kw_only=True)
class Served:
    """Where the application is reached."""

    app: web.Application
    listeners: Listeners
    own_uid: int | None = None

    @property
    def port(self) -> int:
        """The TCP port."""
        return self.listeners.tcp[0][1]

    async def ask(
        self,
        target: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        address: str = "127.0.0.1",
        host: str | None = None,
        token: str | None = TOKEN,
    ) -> Answer:
        """Send a request over TCP, with exactly these headers besides host, token and length."""
        told = list(headers.items() if isinstance(headers, Mapping) else headers)
        told.append(("Host", f"127.0.0.1:{self.port}" if host is None else host))
        if token is not None:
            told.append(("Authorization", f"Bearer {token}"))
        return await self.raw(request(method, target, told, body), address=address)

    async def raw(self, sent: bytes, *, address: str = "127.0.0.1") -> Answer:
        """Send bytes over TCP and read one answer."""
        reader, writer = await asyncio.open_connection(address, self.port)
        return await _talk(reader, writer, sent)

    async def over_socket(self, sent: bytes) -> Answer:
        """Send bytes over the Unix socket and read one answer."""
        reader, writer = await asyncio.open_unix_connection(str(self.listeners.socket_path))
        return await _talk(reader, writer, sent)


def request(
    method: str, target: str, headers: Sequence[tuple[str, str]] = (), body: bytes = b""
) -> bytes:
    """Return the bytes of a request that ends its connection."""
    told = [*headers, ("Connection", "close")]
    if body:
        told.append(("Content-Length", str(len(body))))
    lines = "".join(f"{name}: {value}\r\n" for name, value in told)
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body


async def _talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes) -> Answer:
    async with asyncio.timeout(_PATIENCE):
        got = b""
        # Refused before all of it was read; what was answered before that is there.
        with suppress(ConnectionError):
            writer.write(sent)
            await writer.drain()
        with suppress(ConnectionError):
            while piece := await reader.read(65536):
                got += piece
        head, _, body = got.partition(b"\r\n\r\n")
        writer.close()
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(": ") for line in lines)
    return Answer(
        status=int(first.split()[1]) if first else 0,
        headers={name.lower(): value for name, _, value in pairs},
        body=body,
    )


@asynccontextmanager
async def serving(
    api: ApiHouse, *, head_seconds: float = 15.0, **rules: Any
) -> AsyncIterator[Served]:
    """Serve an API as a daemon does.

    Args:
        head_seconds: how long a connection may take to ask for something.
        rules: other rules than the usual ones.
    """
    found: list[Listeners] = []

    def now() -> AccessRules:
        usual = {"token": TOKEN, "hosts": hosts_of(found[0].tcp), "origins": frozenset({PAGE})}
        return AccessRules(**{**usual, **rules})

    slow_heads = SlowHeads(seconds=head_seconds)
    app = application(api.services, middlewares=[slow_heads.middleware(), access_middleware(now)])
    app.on_response_prepare.append(announce_origin(now))
    runner = web.AppRunner(app, **RUNNER_OPTIONS)
    await runner.setup()
    listeners = Listeners(runner, slow_heads)
    found.append(listeners)
    with tempfile.TemporaryDirectory(prefix="spaced-", dir="/tmp") as name:
        await listeners.open_unix(Path(name) / "control.sock")
        await listeners.open_tcp("localhost", 0)
        try:
            yield Served(app=app, listeners=listeners)
        finally:
            await listeners.close()
