"""`spaced send`: a prompt for a session."""

import sys
from typing import TYPE_CHECKING

import click

from spaced.cli.output import print_json
from spaced.cli.reach import Reach, reaching

if TYPE_CHECKING:
    from spaced.client.place import Place
    from spaced.wire.shapes import Receipt


@click.command()
@click.argument("session")
@click.argument("text", nargs=-1, required=True)
@click.option("--id", "prompt_id", help="An id of your own: sent again, it happens once.")
@click.option("--steer", is_flag=True, help="Into the running turn, if the agent can take it.")
@click.option("--held", is_flag=True, help="Wait until it is released.")
@click.option("--replace", "replaces", is_flag=True, help="Interrupt the running turn and go next.")
@click.option("--wait", metavar="SECONDS", type=float, help="Wait for the answer, and print it.")
@reaching
def send(
    *,
    session: str,
    text: tuple[str, ...],
    prompt_id: str | None,
    steer: bool,
    held: bool,
    replaces: bool,
    wait: float | None,
    reach: Reach,
) -> None:
    """Send TEXT to SESSION (an id, its beginning, or `last`); `-` reads the standard input.

    When this returns, the prompt is on disk.
    """
    from spaced.cli.naming import session_named

    place = reach.place()
    words = sys.stdin.read() if text == ("-",) else " ".join(text)
    session_id = session_named(place, session)
    receipt = admit(
        place,
        session_id,
        words,
        prompt_id=prompt_id,
        steer=steer,
        held=held,
        replaces=replaces,
    )
    if wait is not None:
        _print_answer(place, receipt.session_id, wait, as_json=reach.as_json)
    elif reach.as_json:
        print_json(receipt)
    else:
        click.echo(f"{receipt.id} is accepted; {receipt.queue_index} wait before it")


def admit(
    place: "Place",
    session_id: str,
    text: str,
    *,
    prompt_id: str | None = None,
    steer: bool = False,
    held: bool = False,
    replaces: bool = False,
) -> "Receipt":
    """Admit a prompt of plain text."""
    from spaced.client import calls
    from spaced.client.fresh_ids import fresh_id

    call = calls.prompt(
        session_id,
        prompt_id or fresh_id("msg"),
        [{"type": "text", "text": text}],
        delivery="steer" if steer else "queue",
        wake=not held,
        on_busy="replace" if replaces else "queue",
    )
    return calls.perform(place, call)


def _print_answer(place: "Place", session_id: str, seconds: float, *, as_json: bool) -> None:
    from spaced.cli.chat.spans import escaped
    from spaced.client import calls

    progress = calls.perform(place, calls.wait(session_id, timeout=seconds))
    if as_json:
        print_json(progress)
        return
    answer = [item for item in progress.items if item.get("role") == "assistant"]
    if answer:
        click.echo(escaped(str(answer[-1].get("content", ""))))
    if not progress.done:
        click.echo(f"{session_id} is still {progress.live.word}", err=True)
