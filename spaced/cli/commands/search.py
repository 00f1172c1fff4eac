"""`spaced search`: finds words in titles, messages and what tools returned."""

from typing import Any

import click

from spaced.cli.output import print_json, shown
from spaced.cli.reach import Reach, reaching


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--profile", help="Only sessions of the profile of this id.")
@click.option("--dir", "directory", help="Only sessions of this folder.")
@click.option("--since", metavar="TIME", help="RFC 3339; only what is not older.")
@click.option("--until", metavar="TIME", help="RFC 3339; only what is older.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True)
@reaching
def search(*, words: tuple[str, ...], reach: Reach, **filters: Any) -> None:
    """Find what holds all WORDS, newest first; `*` at a word's end matches beginnings."""
    from spaced.client import calls

    found = calls.perform(reach.place(), calls.search(" ".join(words), **filters))
    if reach.as_json:
        print_json(found)
        return
    for hit in found.hits:
        place = hit.session_id if hit.item_id is None else f"{hit.session_id} {hit.item_id}"
        click.echo(f"{place}  {shown(hit.title or '')}")
        click.echo(f"    {shown(hit.snippet)}")
    if not found.hits:
        click.echo("Nothing holds all these words.")
