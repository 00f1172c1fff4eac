"""`spaced new`: a session, and perhaps its first prompt."""

from pathlib import Path

import click

from spaced.cli.output import print_json
from spaced.cli.reach import Reach, reaching


@click.command()
@click.argument("prompt", nargs=-1)
@click.option("--profile", help="The id or the name of a profile; the only one by default.")
@click.option("--agent", help="An agent that is installed, such as opencode, instead of a profile.")
@click.option(
    "--dir",
    "directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder that it works in; this one by default.",
)
@click.option("--title", help="A title; without one it comes from the first prompt.")
@reaching
def new(
    *,
    prompt: tuple[str, ...],
    profile: str | None,
    agent: str | None,
    directory: Path | None,
    title: str | None,
    reach: Reach,
) -> None:
    """Create a session and print its id; with PROMPT also send that."""
    from spaced.cli.chat.beginning import begin_session
    from spaced.cli.commands.send import admit

    if profile is not None and agent is not None:
        raise click.UsageError("Say either --profile or --agent.")
    place = reach.place()
    folder = (directory or Path.cwd()).resolve()
    session = begin_session(place, profile=profile, directory=folder, title=title, agent=agent)
    if prompt:
        admit(place, session.id, " ".join(prompt))
    if reach.as_json:
        print_json(session)
    else:
        click.echo(session.id)
