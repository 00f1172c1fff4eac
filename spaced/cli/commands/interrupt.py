"""`spaced interrupt`: ends what a session is doing."""

import click

from spaced.cli.output import print_json
from spaced.cli.reach import Reach, reaching


@click.command()
@click.argument("session")
@reaching
def interrupt(*, session: str, reach: Reach) -> None:
    """End what SESSION is doing; its queue stays and is paused. A second time kills at once."""
    from spaced.cli.naming import session_named
    from spaced.client import calls

    place = reach.place()
    done = calls.perform(place, calls.interrupt(session_named(place, session)))
    if reach.as_json:
        print_json(done)
    else:
        click.echo("interrupted" if done.interrupted else "it was doing nothing")
