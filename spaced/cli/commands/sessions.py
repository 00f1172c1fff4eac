"""`spaced sessions`: what there is, and what can be done with it as a whole."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from spaced.cli.listing_group import ListingGroup
from spaced.cli.output import facts, print_json, table
from spaced.cli.reach import Reach, reaching

if TYPE_CHECKING:
    from spaced.client.calls import Call
    from spaced.wire.shapes import Session


@click.group(cls=ListingGroup)
def sessions() -> None:
    """List, show, change and delete sessions; alone it lists them."""


@sessions.command("list")
@click.option("--status", help="Only those of this status.")
@click.option("--dir", "directory", help="Only those of this folder.")
@click.option("--profile", help="Only those of the profile of this id.")
@click.option("--archived", is_flag=True, help="Those in the archive.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True)
@reaching
def list_sessions(*, reach: Reach, **filters: Any) -> None:
    """List sessions, the one that changed last first."""
    from spaced.client import calls

    page = calls.perform(reach.place(), calls.sessions(**filters))
    if reach.as_json:
        print_json(page)
        return
    table(
        ("session", "is", "changed", "items", "title"),
        [
            (one.id, _word(one), one.updated_at, one.item_count, (one.title or "")[:60])
            for one in page.sessions
        ],
        nothing="There is no session; `spaced chat` begins one.",
    )


@sessions.command()
@click.argument("session")
@reaching
def show(*, session: str, reach: Reach) -> None:
    """Show what is known of SESSION."""
    from spaced.client import calls

    found = _do(reach, session, calls.session)
    if reach.as_json:
        print_json(found)
        return
    facts(
        {
            "session": found.id,
            "title": found.title,
            "is": _word(found),
            "profile": found.agent_id,
            "folder": found.directory,
            "created": found.created_at,
            "changed": found.updated_at,
            "items": found.item_count,
            "queue": "paused" if found.queue_paused else "open",
            "used": found.usage or None,
            "damage": found.damage,
        }
    )


@sessions.command()
@click.argument("session")
@click.argument("title")
@reaching
def rename(*, session: str, title: str, reach: Reach) -> None:
    """Give SESSION another TITLE."""
    from spaced.client import calls

    _tell(reach, _do(reach, session, lambda name: calls.change_session(name, title=title)))


@sessions.command()
@click.argument("session")
@click.option("--undo", is_flag=True, help="Back to the list.")
@reaching
def archive(*, session: str, undo: bool, reach: Reach) -> None:
    """Move SESSION to the archive."""
    from spaced.client import calls

    _tell(reach, _do(reach, session, lambda name: calls.change_session(name, archived=not undo)))


@sessions.command()
@click.argument("session")
@click.option("--force", is_flag=True, help="End what is going on instead of refusing.")
@click.option("--now", is_flag=True, help="Remove everything for good at once.")
@reaching
def delete(*, session: str, force: bool, now: bool, reach: Reach) -> None:
    """Delete SESSION; nothing brings it back, and its id is never used again."""
    from spaced.client import calls

    _tell(reach, _do(reach, session, lambda name: calls.delete_session(name, force=force, now=now)))


@sessions.command()
@click.argument("session")
@reaching
def complete(*, session: str, reach: Reach) -> None:
    """End SESSION for good; a later prompt goes to a follow-up."""
    from spaced.client import calls

    _tell(reach, _do(reach, session, calls.complete))


@sessions.command()
@click.argument("session")
@reaching
def reset(*, session: str, reach: Reach) -> None:
    """Begin the provider's conversation of SESSION anew; the transcript stays."""
    from spaced.client import calls

    _tell(reach, _do(reach, session, calls.reset))


@sessions.command()
@click.argument("session")
@click.option("--item", help="The last item to copy; all by default.")
@reaching
def fork(*, session: str, item: str | None, reach: Reach) -> None:
    """Start a new chat with the transcript of SESSION, and print its id."""
    from spaced.client import calls
    from spaced.client.fresh_ids import fresh_id

    new_id = fresh_id("ses")
    made = _do(reach, session, lambda name: calls.fork(name, new_id, item=item))
    if reach.as_json:
        print_json(made)
    else:
        click.echo(made.id)


@sessions.command()
@click.argument("session")
@reaching
def prompts(*, session: str, reach: Reach) -> None:
    """List the prompts that wait in SESSION, in the order of its queue."""
    from spaced.client import calls

    _show_queue(reach, _do(reach, session, calls.pending))


@sessions.command()
@click.argument("session")
@reaching
def pause(*, session: str, reach: Reach) -> None:
    """Let the prompts of SESSION wait."""
    from spaced.client import calls

    _show_queue(reach, _do(reach, session, calls.pause))


@sessions.command()
@click.argument("session")
@reaching
def resume(*, session: str, reach: Reach) -> None:
    """Let the queue of SESSION go on."""
    from spaced.client import calls

    _show_queue(reach, _do(reach, session, calls.resume))


@sessions.command("cancel-prompt")
@click.argument("session")
@click.argument("prompt")
@reaching
def cancel_prompt(*, session: str, prompt: str, reach: Reach) -> None:
    """Take PROMPT out of the queue of SESSION."""
    from spaced.client import calls

    _tell(reach, _do(reach, session, lambda name: calls.cancel_prompt(name, prompt)))


@sessions.command("send-now")
@click.argument("session")
@click.argument("prompt")
@reaching
def send_now(*, session: str, prompt: str, reach: Reach) -> None:
    """Let PROMPT of SESSION go with the next chance."""
    from spaced.client import calls

    _tell(reach, _do(reach, session, lambda name: calls.send_now(name, prompt)))


def _do(reach: Reach, session: str, call_for: "Callable[[str], Call[Any]]") -> Any:
    from spaced.cli.naming import session_named
    from spaced.client.calls import perform

    place = reach.place()
    return perform(place, call_for(session_named(place, session)))


def _word(session: "Session") -> str:
    return session.status if session.live.word == "idle" else session.live.word


def _tell(reach: Reach, done: object) -> None:
    if reach.as_json:
        print_json(done)
    else:
        click.echo("done")


def _show_queue(reach: Reach, found: Any) -> None:
    if reach.as_json:
        print_json(found)
        return
    table(
        ("prompt", "delivery", "held", "text"),
        [
            (
                one.id,
                one.delivery,
                "held" if one.held else "",
                " ".join(str(part.get("text", part.get("name", ""))) for part in one.parts)[:60],
            )
            for one in found.prompts
        ],
        nothing="No prompt waits.",
    )
