"""`spaced tail`: what happens, as it happens."""

import click

from spaced.cli.reach import Reach, reaching


@click.command()
@click.argument("session", required=False)
@click.option("--after", metavar="CURSOR", help="Go on from this cursor, instead of from now.")
@click.option("--kinds", metavar="A,B", help="Only these kinds of events and names of frames.")
@click.option("--until-idle", is_flag=True, help="End when nothing is going on any more.")
@reaching
@click.pass_context
def tail(
    context: click.Context,
    *,
    session: str | None,
    after: str | None,
    kinds: str | None,
    until_idle: bool,
    reach: Reach,
) -> None:
    """Print what happens in SESSION, or in all of them, as it happens.

    It goes on when the daemon is restarted, without a gap and without a repetition. Each JSON
    object has `name`, `cursor` and `data`; the cursor of the last one is where --after goes on.
    """
    import asyncio

    from spaced.cli.chat import front
    from spaced.cli.chat.tailing import Tail

    front.prepare_output()
    wanted = None if kinds is None else {kind.strip() for kind in kinds.split(",")} - {""}
    told = Tail(
        session_id=session,
        after=after,
        kinds=wanted or None,
        until_idle=until_idle,
        as_json=reach.as_json,
    )
    try:
        code = asyncio.run(front.tail(reach.place(), told))
    except BrokenPipeError:
        front.forget_output()
        code = 0
    context.exit(code)
