"""`spaced chat`: talk to an agent in a terminal, or let a script do it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spaced.cli.reach import Reach, reaching

if TYPE_CHECKING:
    from spaced.client.place import Place


@click.command()
@click.argument("session", required=False)
@click.option("--profile", help="The id or the name of a profile, for a new session.")
@click.option(
    "--dir",
    "directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder that a new session works in; this one by default.",
)
@click.option("--title", help="A title for a new session.")
@click.option(
    "--history",
    type=click.IntRange(1, 500),
    default=20,
    show_default=True,
    help="How many of the newest items are shown at first.",
)
@reaching
@click.pass_context
def chat(
    context: click.Context,
    *,
    session: str | None,
    profile: str | None,
    directory: Path | None,
    title: str | None,
    history: int,
    reach: Reach,
) -> None:
    """Chat in SESSION (an id, its beginning, or `last`), or in a new one.

    Lines are prompts; /help lists what else can be typed. Leaving ends nothing: the session goes
    on, and the same command comes back to it.

    Without a terminal each line of the input is a prompt, or answers what the agent asks; the exit
    code is 1 if a turn did not complete or something waits for an answer.
    """
    import asyncio

    from spaced.cli.chat import front

    front.prepare_output()
    place = reach.place()
    if session is None:
        session = _new_session(place, profile, directory or Path.cwd(), title)
    elif profile or directory or title:
        raise click.UsageError("--profile, --dir and --title are for new sessions")
    else:
        session = _known_session(place, session)
    try:
        code = asyncio.run(front.chat(place, session, history=history))
    except BrokenPipeError:
        front.forget_output()
        code = 0
    context.exit(code)


def _known_session(place: "Place", name: str) -> str:
    from spaced.cli.naming import session_named

    return session_named(place, name)


def _new_session(place: "Place", profile: str | None, directory: Path, title: str | None) -> str:
    from spaced.cli.chat.beginning import begin_session

    session = begin_session(place, profile=profile, directory=directory.resolve(), title=title)
    click.echo(f"session {session.id}; come back with: spaced chat {session.id}")
    return session.id
