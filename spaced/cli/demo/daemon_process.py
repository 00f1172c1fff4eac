"""A daemon of the demo's own: a real process on a temporary folder, that can be killed."""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Final, Self

from spaced.client.place import Place
from spaced.errors import SpacedError

_PATIENCE: Final = 60.0


class DaemonProcess:
    """One life of a daemon.

    Attributes:
        place: where it is reached.
    """

    def __init__(self, process: asyncio.subprocess.Process, place: Place) -> None:
        self._process = process
        self.place = place

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @classmethod
    async def start(cls, folder: Path) -> Self:
        """Start a daemon on a folder; returns when it is ready.

        Raises:
            SpacedError: it ended instead, or said nothing for a minute.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.setblocking(False)
            address = folder / "ready.sock"
            address.unlink(missing_ok=True)
            ready.bind(str(address))
            # A file and not a pipe: nobody reads it while all goes well, and a full pipe blocks.
            words = folder / "demo-daemon.txt"
            with words.open("wb") as file:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", "spaced", "serve", "--data-dir", str(folder)),
                    "--no-tcp",
                    env={**os.environ, "NOTIFY_SOCKET": str(address)},
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=file,
                )
            await _until_ready(process, ready, words)
        return cls(process, Place(socket=str(folder / "run" / "control.sock")))

    async def kill(self) -> None:
        """End it as a power cut would: it gets no chance to do anything."""
        self._process.send_signal(signal.SIGKILL)
        await self._process.wait()

    async def stop(self) -> None:
        """End it as a service manager does; one that has ended stays so."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
        await self._process.wait()


async def _until_ready(
    process: asyncio.subprocess.Process, ready: socket.socket, words: Path
) -> None:
    loop = asyncio.get_running_loop()
    told = asyncio.ensure_future(_ready_message(loop, ready))
    gone = asyncio.ensure_future(process.wait())
    try:
        await asyncio.wait({told, gone}, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if told.done():
            return
        if not gone.done():
            process.kill()
            await process.wait()
        said = (await asyncio.to_thread(words.read_text, errors="replace")).strip()
        raise SpacedError(f"the demo's daemon did not start: {said or 'it said nothing'}")
    finally:
        told.cancel()
        gone.cancel()


async def _ready_message(loop: asyncio.AbstractEventLoop, ready: socket.socket) -> None:
    while b"READY=1" not in await loop.sock_recv(ready, 4096):
        pass
