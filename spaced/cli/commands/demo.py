"""`spaced demo`: the two-minute proof."""

import tempfile
from pathlib import Path

import click


@click.command()
@click.option("--keep", is_flag=True, help="Keep the folder and say where it is.")
def demo(*, keep: bool) -> None:
    """Show that nothing that was accepted is lost or done twice, also after kill -9.

    Starts a daemon of its own on a temporary folder, with an agent that needs no model, and ends
    with a counted check; the exit code is 1 if anything was lost.
    """
    import asyncio

    from spaced.cli.demo.story import Story

    # Directly below /tmp: the path of a Unix socket has little room.
    folder = Path(tempfile.mkdtemp(prefix="spaced-demo-", dir="/tmp"))
    try:
        counted = asyncio.run(Story(folder, click.echo).tell())
    finally:
        if keep:
            click.echo(f"kept: {folder}")
        else:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)
    for problem in counted.problems:
        click.echo(f"LOST OR TWICE: {problem}", err=True)
    if counted.problems:
        raise SystemExit(1)
    click.echo("Nothing was lost, and nothing happened twice.")
