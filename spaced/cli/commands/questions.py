"""`spaced questions`: what agents want to know."""

import click

from spaced.cli.listing_group import ListingGroup
from spaced.cli.output import print_json, shown
from spaced.cli.reach import Reach, reaching


@click.group(cls=ListingGroup)
def questions() -> None:
    """List and answer agents' questions; alone it lists them."""


@questions.command("list")
@click.option("--session", help="Only those of the session of this id.")
@reaching
def list_questions(*, reach: Reach, session: str | None = None) -> None:
    """List the questions that wait for an answer."""
    from spaced.client import calls

    found = calls.perform(reach.place(), calls.questions(session))
    if reach.as_json:
        print_json(found)
        return
    for ask in found.asks:
        click.echo(f"{ask.id}  {ask.session_id}")
        for question in ask.questions:
            click.echo(f"    {shown(question.get('text') or question.get('header'))}")
    if not found.asks:
        click.echo("Nothing waits for an answer.")


@questions.command()
@click.argument("ask")
@click.argument("answers", nargs=-1, required=True)
@reaching
def answer(*, ask: str, answers: tuple[str, ...], reach: Reach) -> None:
    """Answer ASK: one of ANSWERS for each of its questions, in their order."""
    from spaced.client import calls

    told = [[text] for text in answers]
    done = calls.perform(reach.place(), calls.answer_question(ask, told))
    if reach.as_json:
        print_json(done)
    else:
        click.echo("answered")
