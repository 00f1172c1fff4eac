"""`spaced grants`: permissions that stand."""

import click

from spaced.cli.listing_group import ListingGroup
from spaced.cli.output import print_json, table
from spaced.cli.reach import Reach, reaching


@click.group(cls=ListingGroup)
def grants() -> None:
    """List and revoke standing permissions; alone it lists them."""


@grants.command("list")
@reaching
def list_grants(*, reach: Reach) -> None:
    """List the standing permissions."""
    from spaced.client import calls

    found = calls.perform(reach.place(), calls.grants())
    if reach.as_json:
        print_json(found)
        return
    table(
        ("grant", "profile", "tool", "covers", "in"),
        [
            (
                one.id,
                one.profile_id,
                one.tool_kind,
                one.match.get("pattern") or "this call",
                one.directory,
            )
            for one in found.grants
        ],
        nothing="No permission stands.",
    )


@grants.command()
@click.argument("grant")
@reaching
def revoke(*, grant: str, reach: Reach) -> None:
    """Withdraw GRANT: it is asked again from now on."""
    from spaced.client import calls

    calls.perform(reach.place(), calls.revoke_grant(grant))
    if not reach.as_json:
        click.echo("revoked")
