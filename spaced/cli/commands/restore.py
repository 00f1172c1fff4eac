"""`spaced restore`: a backup becomes the log of an empty data directory."""

from pathlib import Path

import click

from spaced.cli.output import print_json
from spaced.cli.reach import Reach, reaching


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@reaching
def restore(*, folder: Path, reach: Reach) -> None:
    """Put the backup in FOLDER into a data directory that has no log yet.

    It becomes a log of its own: clients with cursors of the old one are told to read it anew.
    """
    import asyncio

    from spaced.daemon import offline
    from spaced.daemon.storage_place import storage_folder

    settings = reach.settings()
    asyncio.run(offline.restore(settings, folder.absolute()))
    if reach.as_json:
        print_json({"folder": str(storage_folder(settings))})
    else:
        click.echo(f"restored into {storage_folder(settings)}; start it with: spaced up")
