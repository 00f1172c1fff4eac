"""Closes the door to changes while the daemon ends; reading goes on until the listeners close."""

from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from spaced.refusals import DaemonStopping

_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Gate:
    """Open until it is closed, once and for good."""

    def __init__(self) -> None:
        self._is_closed = False

    def close(self) -> None:
        """Refuse every change from now on."""
        self._is_closed = True

    def middleware(self) -> Middleware:
        """Return what every request passes."""

        @web.middleware
        async def pass_gate(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            if self._is_closed and request.method not in _READING:
                raise DaemonStopping("the daemon is about to end and takes nothing new")
            return await handler(request)

        return pass_gate
