"""Where a daemon is, and what opens it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A Unix socket, or a host and a port with the access token.

    Attributes:
        socket: the path of the Unix socket; it needs no token.
        host: for TCP, where there is no socket.
        token: the access token; sent to nobody who has not proved that he knows it.
    """

    socket: str | None = None
    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""

    def __str__(self) -> str:
        """Return what a person calls it."""
        return self.socket if self.socket is not None else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The beginning of every address; the host of a Unix socket means nothing."""
        if self.socket is not None:
            return "http://spaced"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"
