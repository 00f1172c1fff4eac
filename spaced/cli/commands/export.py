"""`spaced export`: a chat as a file."""

import sys
from pathlib import Path
from typing import Literal

import click

from spaced.cli.reach import Reach, reaching


@click.command()
@click.argument("session")
@click.option("--format", "form", type=click.Choice(["json", "md"]), default="md")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file to write.")
@click.option("--no-redact", is_flag=True, help="Keep what looks like a secret.")
@reaching
def export(
    *, session: str, form: Literal["json", "md"], output: Path | None, no_redact: bool, reach: Reach
) -> None:
    """Write SESSION as Markdown to read, or as JSON with everything of it."""
    from spaced.cli.naming import session_named
    from spaced.client import calls

    place = reach.place()
    session_id = session_named(place, session)
    content = calls.perform(place, calls.export(session_id, form, redacted=not no_redact))
    if output is None:
        sys.stdout.buffer.write(content)
        return
    from spaced.daemon.private_files import write_private

    write_private(output.absolute(), content)
    click.echo(f"wrote {len(content):,} bytes to {output}", err=True)
