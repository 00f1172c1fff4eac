"""`spaced config`: every setting, and where it comes from."""

import click

from spaced.cli.output import print_json, table
from spaced.cli.reach import Reach, reaching


@click.command()
@click.option("--explain", is_flag=True, help="Also say what each one means.")
@reaching
def config(*, explain: bool, reach: Reach) -> None:
    """Show every setting with its value and where that comes from; secrets are hidden."""
    import dataclasses

    loaded = reach.loaded()
    listed = loaded.listing()
    if reach.as_json:
        print_json([dataclasses.asdict(one) for one in listed])
        return
    click.echo(f"# {loaded.config_file}")
    if explain:
        for one in listed:
            click.echo(f"{one.name} = {one.value}  ({one.origin})")
            click.echo(f"    {one.description} {one.type}; {one.variable or 'no variable'}")
        return
    table(("setting", "value", "from"), [(one.name, one.value, one.origin) for one in listed])
