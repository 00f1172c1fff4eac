"""`spaced plugins`: what is installed, and a new one to start from."""

from pathlib import Path

import click

from spaced.cli.listing_group import ListingGroup
from spaced.cli.output import print_json, table
from spaced.cli.reach import Reach, reaching


@click.group(cls=ListingGroup)
def plugins() -> None:
    """List plugins, or write a new one; alone it lists them."""


@plugins.command("list")
@reaching
def list_plugins(*, reach: Reach) -> None:
    """List the plugins that the running daemon has loaded, and what became of each."""
    from spaced.client import calls

    found = calls.perform(reach.place(), calls.plugins())
    if reach.as_json:
        print_json(found)
        return
    table(
        ("plugin", "from", "is", "offers"),
        [
            (
                one.name,
                f"{one.distribution} {one.version}",
                one.state,
                ", ".join(one.offers) or one.reason,
            )
            for one in found.plugins
        ],
    )
    for problem in found.problems:
        click.echo(problem, err=True)


@plugins.command()
@click.argument("name")
@click.option(
    "--in",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="Where the package's folder is made; here by default.",
)
def new(*, name: str, folder: Path) -> None:
    """Write a package for a runtime called NAME, which passes its contract tests."""
    from spaced.cli.plugin_package.package import write_package

    for path in write_package(name, folder):
        click.echo(path)
