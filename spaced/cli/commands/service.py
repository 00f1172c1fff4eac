"""`spaced service`: the daemon as a service of this user."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spaced.cli.output import shown

if TYPE_CHECKING:
    from spaced.daemon.service_files import Outcome, ServiceFiles


@click.group()
def service() -> None:
    """Install the daemon as a service of this user, look at it, remove it."""


@service.command()
def install() -> None:
    """Write the service files and start the service."""
    _tell(_files().install(), "written")


@service.command()
def status() -> None:
    """Show what is installed, and whether it runs."""
    found = _files().status()
    for path, state in found.files.items():
        click.echo(f"{path}: {state}")
    for unit, word in found.units.items():
        click.echo(f"{unit}: {shown(word)}")


@service.command()
def remove() -> None:
    """Stop the service and remove its files."""
    _tell(_files().remove(), "removed")


def _files() -> "ServiceFiles":
    from spaced.daemon.service_files import ServiceFiles, run_program

    home = Path.home()
    return ServiceFiles(
        platform=sys.platform,
        home=home,
        config=Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config"),
        command=(sys.executable, "-P", "-m", "spaced"),
        search_path=os.environ.get("PATH", os.defpath),
        uid=os.getuid(),
        run=run_program,
    )


def _tell(done: "Outcome", word: str) -> None:
    for path in done.changed:
        click.echo(f"{word}: {path}")
    if not done.changed:
        click.echo("Nothing was to be done.")
    if done.problem is not None:
        click.echo(done.problem, err=True)
    for command in done.to_do:
        click.echo(f"  → run: {command}", err=True)
