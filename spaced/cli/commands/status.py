"""`spaced status`: what the daemon is doing."""

from typing import TYPE_CHECKING

import click

from spaced.cli.output import facts, print_json, table
from spaced.cli.reach import Reach, reaching

if TYPE_CHECKING:
    from spaced.wire.reports import Status


@click.command()
@reaching
def status(*, reach: Reach) -> None:
    """Show what the daemon is doing, where its data lie, and what it warns of."""
    from spaced.client.calls import perform
    from spaced.client.calls import status as ask

    found = perform(reach.place(), ask())
    if reach.as_json:
        print_json(found)
    else:
        _show(found)


def _show(found: "Status") -> None:
    places = [found.listeners.socket, *found.listeners.tcp]
    sizes = ", ".join(f"{name} {size:,} B" for name, size in found.storage.sizes.items())
    facts(
        {
            "daemon": f"spaced {found.version}, pid {found.pid}, since {found.started_at}",
            "listening": ", ".join(place for place in places if place),
            "data": f"{found.storage.location} ({found.storage.engine}; {sizes})",
            "waiting": f"{found.pending_prompts} prompts, {found.open_asks} asks",
            "listeners": f"{found.streams} event streams",
        }
    )
    table(
        ("session", "is"),
        [(one.session_id, one.live.word) for one in found.active],
        nothing="No session is at work.",
    )
    for session_id, problem in found.problems.items():
        click.echo(f"problem of {session_id}: {problem.get('message')}")
    for warning in (*found.storage.warnings, *found.warnings):
        click.echo(f"warning: {warning}", err=True)
