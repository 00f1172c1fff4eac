"""`spaced doctor`: proves that the rows follow from the log, and mends them."""

from typing import TYPE_CHECKING

import click

from spaced.cli.output import print_json, shown
from spaced.cli.reach import Reach, reaching
from spaced.refusals import NoDaemon

if TYPE_CHECKING:
    from spaced.wire.reports import DoctorReport


@click.command()
@click.option("--rebuild", is_flag=True, help="Write all rows anew; no daemon may run.")
@reaching
@click.pass_context
def doctor(context: click.Context, *, rebuild: bool, reach: Reach) -> None:
    """Compare every derived row with the log; exit code 1 if something differs.

    With a running daemon it is asked, without one the data directory is opened.
    """
    import asyncio

    from spaced.client import calls

    if rebuild:
        asyncio.run(_rebuild(reach))
        return
    try:
        found = calls.perform(reach.place(), calls.examine())
    except NoDaemon:
        found = asyncio.run(_examine(reach))
    if reach.as_json:
        print_json(found)
    else:
        _show(found)
    context.exit(1 if found.findings else 0)


def _show(found: "DoctorReport") -> None:
    click.echo(f"{found.storage.engine} at {shown(found.storage.location)}")
    for warning in found.storage.warnings:
        click.echo(f"warning: {shown(warning)}")
    for finding in found.findings:
        click.echo(f"{shown(finding.stream)}: {shown(finding.detail)}")
    click.echo(f"{len(found.findings)} differences between the rows and the log")


async def _examine(reach: Reach) -> "DoctorReport":
    from spaced.api.presenting import finding_shape
    from spaced.api.storage_facts import facts_of
    from spaced.daemon.offline import opened
    from spaced.engine.doctor import examine
    from spaced.wire.reports import DoctorReport

    settings = reach.settings()
    async with opened(settings) as storage:
        findings = [finding_shape(one) async for one in examine(storage)]
        report = await storage.describe()
    return DoctorReport(findings=tuple(findings), storage=facts_of(settings.storage_name, report))


async def _rebuild(reach: Reach) -> None:
    from spaced.daemon.offline import opened
    from spaced.engine.doctor import rebuild

    async with opened(reach.settings()) as storage:
        done = await rebuild(storage)
    if reach.as_json:
        print_json({"streams": done.streams, "written": done.rows_written})
    else:
        click.echo(f"{done.rows_written} rows of {done.streams} streams were written anew")
