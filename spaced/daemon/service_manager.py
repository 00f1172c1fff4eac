"""What a service manager that started the daemon gives it, and what it wants to hear.

It is systemd's protocol, which others speak too: listening sockets are passed on as descriptors
from 3 on, and short messages go to a socket of the manager's. Without one, nothing of this does
anything. The variables are taken out of the environment, so that no agent takes itself for the
service.
"""

import logging
import os
import socket
from collections.abc import MutableMapping
from typing import Final

log = logging.getLogger(__name__)

FIRST_DESCRIPTOR: Final = 3

_PASSING: Final = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID")
_ADDRESS: Final = "NOTIFY_SOCKET"
_PATIENCE: Final = 1.0
"""Seconds that a manager may take to make room for a message."""


def inherited_sockets(environment: MutableMapping[str, str], pid: int) -> list[socket.socket]:
    """Return the listening sockets that were passed on to this process; the caller owns them.

    What was passed on to another process is left alone. What is no listening stream socket is
    closed, and a warning says so: a daemon without it still does its work. Call this before
    anything else could have opened a descriptor of those numbers.

    Args:
        environment: the daemon's own variables; `LISTEN_*` are taken out of it.
        pid: of this process.
    """
    addressee, number, *_ = [environment.pop(name, None) for name in _PASSING]
    if addressee is None or number is None:
        return []
    if not (_is_number(addressee) and _is_number(number)):
        _warn(f"LISTEN_PID={addressee!r} and LISTEN_FDS={number!r} are no numbers")
        return []
    if int(addressee) != pid:
        return []
    found = []
    for descriptor in range(FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + int(number)):
        try:
            os.set_inheritable(descriptor, False)  # agents must not hold the socket open
        except OSError:
            _warn(f"LISTEN_FDS is {number}, but descriptor {descriptor} is not open")
            break  # a larger number would only say this again and again
        if passed := _listening(descriptor):
            found.append(passed)
    return found


class Notifier:
    """Tells a service manager how the daemon is. It never raises, and does nothing without one.

    Args:
        environment: the daemon's own variables; `NOTIFY_SOCKET` is taken out of it.
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._address = _address(environment.pop(_ADDRESS, ""))

    def ready(self) -> None:
        """Tell that clients can connect."""
        self._send("READY=1")

    def stopping(self) -> None:
        """Tell that the daemon is about to end."""
        self._send("STOPPING=1")

    def status(self, text: str) -> None:
        """Tell what the daemon does, for people; a line break would begin another message."""
        self._send(f"STATUS={' '.join(text.split())}")

    def _send(self, message: str) -> None:
        if self._address is None:
            return
        kind = socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)
        try:
            with socket.socket(socket.AF_UNIX, kind) as sender:
                sender.settimeout(_PATIENCE)
                sender.sendto(message.encode(errors="replace"), self._address)
        except OSError as error:
            log.warning(
                "the service manager was not told %r: %s",
                message,
                error,
                extra={"event": "service-manager-unreachable"},
            )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10  # noqa: PLR2004 - as 32 bits hold


def _listening(descriptor: int) -> socket.socket | None:
    """Return the socket of a descriptor; close it if it is not one that takes connections."""
    try:
        found = socket.socket(fileno=descriptor)
    except OSError:
        os.close(descriptor)
        _warn(f"descriptor {descriptor} is no socket")
        return None
    if found.type == socket.SOCK_STREAM and _takes_connections(found):
        return found
    found.close()
    _warn(f"descriptor {descriptor} is no socket that takes connections")
    return None


def _takes_connections(found: socket.socket) -> bool:
    return found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) != 0


def _address(text: str) -> str | None:
    if not text:
        return None
    if text.startswith("/"):
        return text
    if text.startswith("@"):
        return f"\0{text[1:]}"  # a name that is no file, which only Linux has
    _warn(f"{_ADDRESS}={text!r} is neither a path nor an abstract name")
    return None


def _warn(what: str) -> None:
    log.warning(
        "%s, so what the service manager passed on was not taken",
        what,
        extra={"event": "service-manager-misunderstood"},
    )
