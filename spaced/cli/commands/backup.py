"""`spaced backup`: a consistent copy of everything."""

from pathlib import Path

import click

from spaced.cli.output import print_json
from spaced.cli.reach import Reach, reaching
from spaced.refusals import NoDaemon


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@reaching
def backup(*, folder: Path, reach: Reach) -> None:
    """Write a copy into FOLDER, which is new or empty, while work goes on."""
    import asyncio

    from spaced.client import calls

    target = folder.absolute()
    try:
        calls.perform(reach.place(), calls.backup(str(target)))
    except NoDaemon:
        asyncio.run(_copy(reach, target))
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    if reach.as_json:
        print_json({"folder": str(target), "bytes": size})
    else:
        click.echo(f"{size:,} bytes are in {target}")


async def _copy(reach: Reach, target: Path) -> None:
    from spaced.daemon.offline import opened

    async with opened(reach.settings()) as storage:
        await storage.backup(target)
