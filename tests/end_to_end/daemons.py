"""Real daemons in processes of their own: started, killed, stopped and started again."""

import asyncio
import json
import os
import signal
import socket as sockets
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from spaced.client.client import Client
from spaced.client.place import Place

PATIENCE: Final = 60.0


class Daemon:
    """A data directory and the daemon that serves it, one life after the other.

    Attributes:
        folder: the data directory.
    """

    def __init__(self, folder: Path, *arguments: str, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._arguments = arguments
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None

    @classmethod
    @asynccontextmanager
    async def running(
        cls, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> AsyncIterator["Daemon"]:
        """Start a daemon on an empty data directory, and end it in any case.

        Args:
            arguments: further ones for `spaced serve`.
        """
        # A test's own folder has too long a name for a Unix socket below it.
        with tempfile.TemporaryDirectory(prefix="spaced-", dir="/tmp") as name:
            folder = Path(name) / "data"
            async with cls.over(folder, *arguments, environment=environment) as daemon:
                yield daemon

    @classmethod
    @asynccontextmanager
    async def over(
        cls, folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> AsyncIterator["Daemon"]:
        """Start a daemon on a data directory, and end it in any case."""
        daemon = cls(folder, *arguments, environment=environment or {})
        try:
            await daemon.start()
            yield daemon
        finally:
            await daemon.stop()

    @property
    def socket(self) -> Path:
        """Its Unix socket."""
        return self.folder / "run" / "control.sock"

    @property
    def port(self) -> int:
        """Its TCP port."""
        return int(self._told["port"])

    @property
    def token(self) -> str:
        """What opens its TCP port."""
        return (self.folder / "token").read_text().strip()

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    @property
    def _told(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "daemon.json").read_text()))

    @property
    def place(self) -> Place:
        """Where it is reached over its socket."""
        return Place(socket=str(self.socket))

    @property
    def tcp_place(self) -> Place:
        """Where it is reached over TCP."""
        return Place(host="127.0.0.1", port=self.port, token=self.token)

    def client(self, **options: Any) -> Client:
        """Return a client over its socket."""
        return Client(self.place, **{"patience": PATIENCE, **options})

    async def start(self) -> None:
        """Start a life; returns when it is ready."""
        with tempfile.TemporaryDirectory(prefix="spaced-", dir="/tmp") as name:
            address = Path(name) / "ready.sock"
            with sockets.socket(sockets.AF_UNIX, sockets.SOCK_DGRAM) as ready:
                ready.setblocking(False)
                ready.bind(str(address))
                self._process = await self._spawn(address)
                await self._until_ready(ready)

    async def kill(self) -> None:
        """End this life without any chance to do anything."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> int | None:
        """End this life in an orderly way, and return its exit code."""
        return await self._end(signal.SIGTERM)

    @property
    def said(self) -> str:
        """What all lives have printed to their standard error."""
        return self._words.read_text(errors="replace")

    @property
    def _words(self) -> Path:
        # A file and not a pipe: nobody reads while the daemon runs, and a full pipe stops it.
        return self.folder.with_name("said.txt")

    async def _spawn(self, address: Path) -> asyncio.subprocess.Process:
        with self._words.open("ab") as words:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "spaced", "serve", "--data-dir", str(self.folder)),
                *self._arguments,
                env={
                    **os.environ,
                    "SPACED_AGENTS_DETECT": "false",
                    **self._environment,
                    "NOTIFY_SOCKET": str(address),
                },
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=words,
            )

    async def _until_ready(self, ready: sockets.socket) -> None:
        assert self._process is not None
        told = asyncio.ensure_future(_ready(ready))
        gone = asyncio.ensure_future(self._process.wait())
        done, _ = await asyncio.wait(
            {told, gone}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED
        )
        for waiting in (told, gone):
            waiting.cancel()
        if told not in done:
            await self._end(signal.SIGKILL)
            raise AssertionError(f"the daemon did not start: {self.said}")

    async def _end(self, how: signal.Signals) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        if process.returncode is None:
            process.send_signal(how)
        return await process.wait()


async def _ready(ready: sockets.socket) -> None:
    loop = asyncio.get_running_loop()
    while b"READY=1" not in await loop.sock_recv(ready, 4096):
        pass
