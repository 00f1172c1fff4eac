"""`spaced serve`: the daemon, for a service manager."""

import os
from typing import Any

import click

from spaced.cli.daemon_options import daemon_options
from spaced.cli.reach import Reach


@click.command()
@daemon_options
def serve(*, reach: Reach, **flags: Any) -> None:
    """Run the daemon for a service manager.

    Takes the sockets that it is given, says when it is ready, and logs what matters to the standard
    error as well.
    """
    from spaced.cli.running import run_daemon

    run_daemon(reach.loaded(**flags), environment=os.environ, started=lambda _: None)
