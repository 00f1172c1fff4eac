"""Which daemon a command means, and how it is reached."""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spaced.client.place import Place

if TYPE_CHECKING:
    from spaced.daemon.settings import LoadedSettings, Settings

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What the flags of a command say about the daemon.

    Attributes:
        as_json: whether the command prints JSON.
    """

    data_dir: str | None = None
    socket: str | None = None
    as_json: bool = False

    def loaded(self, **flags: object) -> "LoadedSettings":
        """Read the settings.

        Raises:
            InvalidSettings: they cannot be used.
        """
        from spaced.daemon.settings import load_settings

        named = {"data_dir": self.data_dir, "socket": self.socket, **flags}
        return load_settings(environment=os.environ, flags=named)

    def settings(self) -> "Settings":
        """Return the settings alone."""
        return self.loaded().settings

    def place(self) -> Place:
        """Return where the daemon is reached: its socket, or its TCP port if it has none.

        Raises:
            SpacedError: the settings, or the token of a daemon without a socket, cannot be used.
        """
        if self.socket is not None:
            return Place(socket=self.socket)
        from spaced.daemon.runtime_file import read_runtime_file

        settings = self.settings()
        running = read_runtime_file(settings.data_dir)
        if running is None or running.port is None or running.socket is not None:
            told = None if running is None else running.socket
            return Place(socket=told or str(settings.socket))
        from spaced.daemon.token import access_token

        return Place(
            host=running.host or "127.0.0.1",
            port=running.port,
            token=access_token(settings.data_dir),
        )


def reaching(command: _F) -> _F:
    """Give a command the options that say which daemon it means, as one argument `reach`."""

    @click.option("--data-dir", metavar="FOLDER", help="Where the daemon keeps its data.")
    @click.option("--socket", metavar="PATH", help="The daemon's Unix socket.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON, as the API answers.")
    @functools.wraps(command)
    def reached(
        *args: Any, data_dir: str | None, socket: str | None, as_json: bool, **kwargs: Any
    ) -> Any:
        reach = Reach(data_dir=data_dir, socket=socket, as_json=as_json)
        return command(*args, reach=reach, **kwargs)

    return reached  # type: ignore[return-value]
