"""Cuts connections that never say what they want: each one would hold a descriptor for ever.

aiohttp bounds how large a request's head is and how long a connection may idle between requests,
but not how long the first head may take.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Middleware
from aiohttp.web_protocol import RequestHandler

LONGEST_HEAD: Final = 15.0
"""Seconds until the first request of a connection has to be there; nobody types one by hand."""


class SlowHeads:
    """Knows the connections that have not asked for anything yet."""

    def __init__(self, *, seconds: float = LONGEST_HEAD) -> None:
        self._seconds = seconds
        self._waiting: set[RequestHandler] = set()

    def middleware(self) -> Middleware:
        """Return what notes that a connection has asked; it has to be the first one."""

        @web.middleware
        async def note(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            self._waiting.discard(request.protocol)
            return await handler(request)

        return note

    def watch(self, server: Callable[[], RequestHandler]) -> Callable[[], RequestHandler]:
        """Return the server's protocol factory, with a limit for each connection that it makes."""

        def connect() -> RequestHandler:
            protocol = server()
            self._waiting.add(protocol)
            asyncio.get_running_loop().call_later(self._seconds, self._cut, protocol)
            return protocol

        return connect

    def _cut(self, protocol: RequestHandler) -> None:
        if protocol in self._waiting:
            self._waiting.discard(protocol)
            if protocol.transport is not None:
                protocol.transport.abort()
