"""Opens what the daemon listens on, and closes it again.

The socket's file is made inside a private folder under a name of its own and renamed into place, so
it is never there with another mode than 0600, and never there without somebody who answers.
"""

import asyncio
import errno
import logging
import os
import secrets
import socket
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from spaced.api.slow_heads import SlowHeads
from spaced.refusals import CannotListen, SocketPathTooLong, UnsafePlace

LONGEST_SOCKET_PATH: Final = 103
"""Bytes; Linux takes four more than macOS."""

BACKLOG: Final = 256

_connections = logging.getLogger("spaced.api.connections")
# What is no HTTP, or ends in the middle, is the client's affair; a log that grew with each such
# request could be flooded. Faults of handlers are logged where they are answered.
_connections.setLevel(logging.CRITICAL)

RUNNER_OPTIONS: Final[dict[str, Any]] = {
    # A compressed body could be a thousand times as large as what was counted.
    "auto_decompress": False,
    # Addresses and queries are nobody's business, not even the log's.
    "access_log": None,
    "handler_cancellation": True,
    "logger": _connections,
    # How long a refused body is still read, so that its sender can read the refusal.
    "lingering_time": 1.0,
    "keepalive_timeout": 75.0,
    "max_line_size": 8190,
    "max_field_size": 8190,
    "max_headers": 100,
    "shutdown_timeout": 2.0,
}
"""How the server reads requests: what has no bound here is bounded by the application."""

_MODE: Final = 0o600
_LOOPBACK: Final = {
    "127.0.0.1": ("127.0.0.1",),
    "::1": ("::1",),
    "localhost": ("127.0.0.1", "::1"),
}
_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


class Listeners:
    """Everything that one server listens on.

    Attributes:
        socket_path: of the Unix socket, if there is one.
        tcp: the addresses as `(host, port)`.
    """

    def __init__(self, runner: web.AppRunner, slow_heads: SlowHeads) -> None:
        """Listen on nothing yet.

        Args:
            runner: set up, and cleaned up here.
            slow_heads: whose middleware is the first of the runner's application.
        """
        self.socket_path: Path | None = None
        self.tcp: list[tuple[str, int]] = []
        self._runner = runner
        self._slow_heads = slow_heads
        self._servers: list[asyncio.Server] = []
        self._ours: tuple[int, int] | None = None

    async def open_unix(self, path: Path) -> None:
        """Listen on a Unix socket in a folder that is ours alone.

        Raises:
            SocketPathTooLong: no system would take it; nothing was made.
            UnsafePlace: the folder, or what lies under the name, is not ours.
            CannotListen: somebody listens there.
        """
        _check_length(path)
        _check_folder(path.parent)
        _clear(path)
        listening = _bound_unix(path)
        self.socket_path = path
        self._ours = _identity(path)
        await self._serve(listening)

    async def open_tcp(self, host: str, port: int) -> None:
        """Listen on TCP; with port 0 on a free one, the same for every address of the host.

        Raises:
            CannotListen: the address cannot be used; the message names it.
        """
        for address in _LOOPBACK.get(host, (host,)):
            try:
                listening = _bound_tcp(address, port)
            except OSError as error:
                if address == "::1" and self.tcp and error.errno in _NO_IPV6:
                    continue  # the machine has no IPv6, and localhost is IPv4 alone
                raise CannotListen(
                    f"{address}:{port} cannot be listened on: {error.strerror or error}"
                ) from error
            port = int(listening.getsockname()[1])
            self.tcp.append((address, port))
            await self._serve(listening)

    async def open_inherited(self, listening: socket.socket) -> None:
        """Listen on a socket that a service manager opened; its file is not ours to remove."""
        if listening.family == socket.AF_UNIX:
            self.socket_path = Path(listening.getsockname())
        else:
            host, port = listening.getsockname()[:2]
            self.tcp.append((str(host), int(port)))
        await self._serve(listening)

    async def close(self) -> None:
        """Take no connection any more, end those that are there, and remove what is ours."""
        for server in self._servers:
            server.close()
        self._servers.clear()
        if self.socket_path is not None and self._ours is not None:
            if _identity(self.socket_path) == self._ours:
                self.socket_path.unlink(missing_ok=True)
            self._ours = None
        await self._runner.cleanup()

    async def _serve(self, listening: socket.socket) -> None:
        listening.setblocking(False)
        assert self._runner.server is not None  # it is set up
        # Not by aiohttp's own site, which makes no place for what watches new connections.
        self._servers.append(
            await asyncio.get_running_loop().create_server(
                self._slow_heads.watch(self._runner.server), sock=listening, backlog=BACKLOG
            )
        )


_NO_IPV6: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EADDRINUSE)


def hosts_of(tcp: Sequence[tuple[str, int]]) -> frozenset[str]:
    """Return every exact `Host` under which these addresses are reached."""
    hosts: set[str] = set()
    for address, port in tcp:
        hosts.add(f"[{address}]:{port}" if ":" in address else f"{address}:{port}")
        if address in ("127.0.0.1", "::1"):
            hosts.add(f"localhost:{port}")
    return frozenset(hosts)


def _check_length(path: Path) -> None:
    length = len(os.fsencode(path))
    if length > LONGEST_SOCKET_PATH:
        raise SocketPathTooLong(
            f"the socket's path {str(path)!r} has {length} bytes, more than"
            f" the {LONGEST_SOCKET_PATH} that a system takes"
        )


def _check_folder(folder: Path) -> None:
    try:
        found = folder.lstat()
    except OSError as error:
        raise UnsafePlace(f"the socket's folder {folder} cannot be used: {error}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise UnsafePlace(f"the socket's folder {folder} is a link, or belongs to another user")
    if found.st_mode & _WRITABLE_BY_OTHERS:
        raise UnsafePlace(f"others may write to the socket's folder {folder}")


def _clear(path: Path) -> None:
    """Remove a socket that nobody answers on; leave everything else alone."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise UnsafePlace(f"{path} is there already, and is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(1.0)
        try:
            asking.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            raise CannotListen(f"somebody may listen on {path}: {error}") from error
    raise CannotListen(f"somebody listens on {path} already")


def _bound_unix(path: Path) -> socket.socket:
    # A private folder beside the final place: until the rename nobody else reaches the file, and
    # the longest name fits because the name inside is shorter than the socket's usually is.
    private = path.parent / f".{secrets.token_hex(3)}"
    private.mkdir(mode=0o700)
    made = private / "s"
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(_relative(made))
        made.chmod(_MODE)
        listening.listen(BACKLOG)
        made.rename(path)
    except OSError as error:
        listening.close()
        raise CannotListen(f"the socket {path} cannot be made: {error}") from error
    finally:
        made.unlink(missing_ok=True)
        private.rmdir()
    return listening


def _relative(made: Path) -> str:
    """Return the shorter of two ways to name a file: a longer one may not fit into an address."""
    whole = str(made)
    try:
        short = os.path.relpath(made)
    except (OSError, ValueError):
        return whole
    return min(whole, short, key=len)


def _bound_tcp(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind((address, port))
        listening.listen(BACKLOG)
    except BaseException:
        listening.close()
        raise
    return listening


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
