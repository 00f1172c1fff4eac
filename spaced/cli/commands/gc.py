"""`spaced gc`: gives space back."""

import click

from spaced.cli.output import print_json
from spaced.cli.reach import Reach, reaching


@click.command()
@reaching
def gc(*, reach: Reach) -> None:
    """Remove blobs that nothing names any more; what was stored within the last hour stays."""
    from spaced.client import calls

    done = calls.perform(reach.place(), calls.reclaim())
    if reach.as_json:
        print_json(done)
    else:
        click.echo(f"{done.blobs} blobs of {done.bytes:,} bytes were removed; {done.waiting} wait")
