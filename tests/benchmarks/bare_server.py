"""The floor of everything that is served: a bare aiohttp application that does the least.

As a module it serves in this process; as a program it is the least daemon there could be: it says
that it is ready, and then waits until it is killed.
"""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from aiohttp import web

from tests.benchmarks.floors import CommitFloor

SearchFloor = Callable[[str, int], Awaitable[Sequence[object]]]


class BareServer:
    """Takes prompts with one commit each, writes bytes to whoever listens, and asks an index."""

    def __init__(self, floor: CommitFloor | None = None, search: SearchFloor | None = None) -> None:
        self._floor = floor
        self._search = search
        self._listening: list[asyncio.Queue[bytes]] = []
        self.app = web.Application()
        self.app.router.add_post("/prompts", self._take)
        self.app.router.add_get("/events", self._stream)
        self.app.router.add_get("/search", self._find)

    async def _find(self, request: web.Request) -> web.Response:
        assert self._search is not None
        found = await self._search(request.query["q"], 20)
        body = msgspec.json.encode([str(one) for one in found])
        return web.Response(body=body, content_type="application/json")

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        told = msgspec.json.decode(body)
        assert self._floor is not None
        await self._floor.commit(body)
        self.write(b"event: admitted\ndata: %s\n\n" % body)
        answer = msgspec.json.encode({"id": told.get("id"), "queue_index": 0})
        return web.Response(status=202, body=answer, content_type="application/json")

    def write(self, frame: bytes) -> None:
        """Write a frame to everybody who listens."""
        for queue in self._listening:
            queue.put_nowait(frame)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._listening.append(queue)
        await response.write(b"event: hello\ndata: {}\n\n")
        try:
            while True:
                await response.write(await queue.get())
        finally:
            self._listening.remove(queue)


@asynccontextmanager
async def serving(app: web.Application, path: Path) -> AsyncIterator[None]:
    """Serve an application on a Unix socket."""
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.UnixSite(runner, str(path)).start()
    try:
        yield
    finally:
        await runner.cleanup()


async def _main(path: Path) -> None:
    async with serving(BareServer().app, path):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1])))
