"""`spaced permissions`: what agents want to be allowed."""

import click

from spaced.cli.listing_group import ListingGroup
from spaced.cli.output import print_json, shown
from spaced.cli.reach import Reach, reaching


@click.group(cls=ListingGroup)
def permissions() -> None:
    """List and answer permission requests; alone it lists them."""


@permissions.command("list")
@click.option("--session", help="Only those of the session of this id.")
@reaching
def list_permissions(*, reach: Reach, session: str | None = None) -> None:
    """List the permission requests that wait for an answer."""
    from spaced.client import calls

    found = calls.perform(reach.place(), calls.permissions(session))
    if reach.as_json:
        print_json(found)
        return
    for ask in found.asks:
        click.echo(f"{ask.id}  {ask.session_id}  {shown(ask.tool_kind)}: {shown(ask.subject)}")
        for option in ask.options:
            click.echo(f"    {shown(option.get('option_id'))}: {shown(option.get('name'))}")
    if not found.asks:
        click.echo("Nothing waits for a permission.")


@permissions.command()
@click.argument("ask")
@click.argument("option")
@click.option("--message", help="What the agent is told with it.")
@reaching
def answer(*, ask: str, option: str, message: str | None, reach: Reach) -> None:
    """Answer ASK with one of its options; the first answer holds."""
    from spaced.client import calls

    done = calls.perform(reach.place(), calls.answer_permission(ask, option, message=message))
    if reach.as_json:
        print_json(done)
    else:
        click.echo("answered")
