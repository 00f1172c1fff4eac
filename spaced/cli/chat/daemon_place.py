"""Finds the daemon that the settings of this process mean."""

import os

from spaced.client.place import Place


def daemon_place() -> Place:
    """Return where the daemon is reached: its socket, or its TCP port if it has none.

    Raises:
        SpacedError: the settings, or the token of a daemon without a socket, cannot be used.
    """
    from spaced.daemon.runtime_file import read_runtime_file  # settings take long to import
    from spaced.daemon.settings import load_settings
    from spaced.daemon.token import access_token

    settings = load_settings(environment=os.environ, flags={}).settings
    running = read_runtime_file(settings.data_dir)
    if running is None or running.port is None or running.socket is not None:
        told = None if running is None else running.socket
        return Place(socket=told or str(settings.socket))
    return Place(
        host=running.host or "127.0.0.1",
        port=running.port,
        token=access_token(settings.data_dir),
    )
