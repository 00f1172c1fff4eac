"""`spaced up`: the daemon in this terminal."""

import os
from typing import TYPE_CHECKING, Any

import click

from spaced.cli.daemon_options import daemon_options
from spaced.cli.reach import Reach

if TYPE_CHECKING:
    from spaced.wire.reports import ListenerFacts


@click.command()
@daemon_options
def up(*, reach: Reach, **flags: Any) -> None:
    """Run the daemon in this terminal; Ctrl-C ends it in an orderly way."""
    from spaced.cli.running import run_daemon

    loaded = reach.loaded(**flags)
    data_dir = loaded.settings.data_dir

    def started(listeners: "ListenerFacts") -> None:
        click.echo(f"spaced is up, with its data in {data_dir}")
        for place in (listeners.socket, *listeners.tcp):
            if place is not None:
                click.echo(f"  listening on {place}")
        click.echo("  chat in another terminal: spaced chat        end it here: Ctrl-C")

    run_daemon(loaded, environment=os.environ, started=started)
