"""Who is at the other end of a Unix socket, as the system tells it."""

import socket
import struct
from dataclasses import dataclass
from typing import Final

_UCRED: Final = struct.Struct("3i")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A process that connected; `pid` is 0 where the system does not tell it."""

    pid: int
    uid: int


def peer_of(connection: socket.socket) -> Peer | None:
    """Return who connected; `None` where the system has no way to tell.

    macOS has one that Python does not reach; there the folder's mode alone keeps others out.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    pid, uid, _ = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _UCRED.size))
    return Peer(pid=pid, uid=uid)
