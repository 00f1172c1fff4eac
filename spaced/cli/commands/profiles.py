"""`spaced profiles`: named configurations of agents."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spaced.cli.listing_group import ListingGroup
from spaced.cli.output import facts, print_json, table
from spaced.cli.reach import Reach, reaching
from spaced.refusals import InvalidRequest

if TYPE_CHECKING:
    from spaced.client.place import Place
    from spaced.wire.workflow_shapes import ProfileBindingList


@click.group(cls=ListingGroup)
def profiles() -> None:
    """List, add, change and probe agents' profiles; alone it lists them."""


@profiles.command("list")
@reaching
def list_profiles(*, reach: Reach) -> None:
    """List all profiles, by name."""
    from spaced.client import calls

    found = calls.perform(reach.place(), calls.profiles())
    if reach.as_json:
        print_json(found)
        return
    table(
        ("profile", "name", "runtime", "agent", "is"),
        [(one.id, one.name, one.runtime, one.agent_name, one.status) for one in found.profiles],
        nothing="There is no profile; `spaced profiles add` makes one.",
    )


@profiles.command()
@click.argument("profile")
@reaching
def show(*, profile: str, reach: Reach) -> None:
    """Show PROFILE, named by its id or its name."""
    from spaced.client import calls

    place = reach.place()
    found = calls.perform(place, calls.profile(_named(place, profile)))
    if reach.as_json:
        print_json(found)
        return
    import msgspec

    facts({name: value or None for name, value in msgspec.structs.asdict(found).items()})


@profiles.command()
@click.argument("name")
@click.option("--runtime", required=True, help="A runtime that a plugin offers.")
@click.option("--agent", help="The agent's family; the runtime's name by default.")
@click.option(
    "--command", metavar="PROGRAM", help="The agent's program; a name is looked for here."
)
@click.option("--argument", "arguments", multiple=True, help="An argument of the program.")
@click.option("--model", default="")
@click.option("--mode", default="")
@click.option("--options", metavar="JSON", help="The runtime's own options, as an object.")
@click.option(
    "--environment",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="A variable of the daemon's that the agent may see, or one that it is given.",
)
@click.option(
    "--cancel-grace",
    metavar="DURATION",
    help='How long an interrupt waits before the agent is killed, such as "5s".',
)
@click.option("--headless", is_flag=True, help="Refuse at once what no rule allows.")
@click.option("--id", "profile_id", help="An id of your own.")
@reaching
def add(
    *,
    name: str,
    runtime: str,
    agent: str | None,
    command: str | None,
    arguments: tuple[str, ...],
    model: str,
    mode: str,
    options: str | None,
    environment: tuple[str, ...],
    cancel_grace: str | None,
    headless: bool,
    profile_id: str | None,
    reach: Reach,
) -> None:
    """Add a profile called NAME and print its id."""
    from spaced.client import calls
    from spaced.client.fresh_ids import fresh_id

    definition = {
        "name": name,
        "agent_name": agent or runtime,
        "runtime": runtime,
        "command": [] if command is None else absolute_command(command, arguments),
        "model": model,
        "mode": mode,
        "options": _object(options),
        "environment": list(environment),
        "cancel_grace_ms": None if cancel_grace is None else _milliseconds(cancel_grace),
        "headless": headless,
    }
    chosen = profile_id or fresh_id("prof")
    made = calls.perform(reach.place(), calls.create_profile(chosen, definition))
    if reach.as_json:
        print_json(made)
    else:
        click.echo(made.id)


@profiles.command()
@click.argument("profile")
@click.argument("changes", metavar="JSON")
@click.option("--revision", type=int, help="Only if it is still at this revision.")
@reaching
def edit(*, profile: str, changes: str, revision: int | None, reach: Reach) -> None:
    """Change PROFILE: an object with the fields that are to be different."""
    from spaced.client import calls

    place = reach.place()
    call = calls.change_profile(_named(place, profile), _object(changes) or {}, revision=revision)
    changed = calls.perform(place, call)
    if reach.as_json:
        print_json(changed)
    else:
        click.echo(f"{changed.id} is at revision {changed.revision}")


@profiles.command()
@click.argument("profile")
@reaching
def enable(*, profile: str, reach: Reach) -> None:
    """Let PROFILE take sessions again."""
    _switch(reach, profile, enabled=True)


@profiles.command()
@click.argument("profile")
@reaching
def disable(*, profile: str, reach: Reach) -> None:
    """Let PROFILE take no new sessions."""
    _switch(reach, profile, enabled=False)


@profiles.command()
@click.argument("profile")
@reaching
def delete(*, profile: str, reach: Reach) -> None:
    """Delete PROFILE, if no session uses it."""
    from spaced.client import calls

    place = reach.place()
    calls.perform(place, calls.delete_profile(_named(place, profile)))
    if not reach.as_json:
        click.echo("deleted")


@profiles.command()
@click.argument("profile")
@reaching
@click.pass_context
def probe(context: click.Context, *, profile: str, reach: Reach) -> None:
    """Ask whether the agent of PROFILE could serve a session now; exit code 1 if not."""
    from spaced.client import calls

    place = reach.place()
    found = calls.perform(place, calls.probe_profile(_named(place, profile)))
    if reach.as_json:
        print_json(found)
    elif found.problem is not None:
        click.echo(f"not usable: {found.problem.get('message')}")
        click.echo(f"  → {found.problem.get('remedy')}")
    else:
        click.echo("usable")
        facts(found.details)
    context.exit(0 if found.usable else 1)


@profiles.command("bind")
@click.argument("agent")
@click.argument("profile")
@click.option("--model", default="", help="As the workflow names it.")
@click.option("--mode", default="", help="As the workflow names it.")
@reaching
def bind_profile(*, agent: str, profile: str, model: str, mode: str, reach: Reach) -> None:
    """Let the descriptor AGENT, --model, --mode of workflows mean PROFILE here."""
    from spaced.client import calls, workflow_calls

    place = reach.place()
    descriptor = {"agent_name": agent, "model": model, "mode": mode}
    bound = calls.perform(place, workflow_calls.bind_profile(descriptor, _named(place, profile)))
    _show_bindings(bound, reach)


@profiles.command("unbind")
@click.argument("agent")
@click.option("--model", default="", help="As the workflow names it.")
@click.option("--mode", default="", help="As the workflow names it.")
@reaching
def unbind_profile(*, agent: str, model: str, mode: str, reach: Reach) -> None:
    """Let the descriptor AGENT, --model, --mode mean what its own words say again."""
    from spaced.client import calls, workflow_calls

    descriptor = {"agent_name": agent, "model": model, "mode": mode}
    calls.perform(reach.place(), workflow_calls.unbind_profile(descriptor))
    if not reach.as_json:
        click.echo("unbound")


@profiles.command("bindings")
@reaching
def list_bindings(*, reach: Reach) -> None:
    """List the descriptors of workflows that were bound to a profile here."""
    from spaced.client import calls, workflow_calls

    _show_bindings(calls.perform(reach.place(), workflow_calls.profile_bindings()), reach)


def _show_bindings(bound: "ProfileBindingList", reach: Reach) -> None:
    if reach.as_json:
        print_json(bound)
        return
    table(
        ("agent", "model", "mode", "profile"),
        [(one.agent_name, one.model, one.mode, one.profile_id) for one in bound.bindings],
        nothing="No descriptor is bound; each means what its own words say.",
    )


def absolute_command(program: str, arguments: Sequence[str]) -> list[str]:
    """Return a command with its program's absolute path: found now, so no later PATH decides.

    Raises:
        InvalidRequest: there is none, or it is one that fetches another at each start.
    """
    from spaced.domain.fetchers import fetches_another

    if fetches_another((program, *arguments)):
        raise InvalidRequest(
            f"{Path(program).name!r} fetches a program at each start instead of being one",
            remedy="Install the agent with `spaced agents install`, and name its own program.",
        )
    found = shutil.which(program)
    if found is None:
        raise InvalidRequest(
            f"there is no program {program!r} that can be run",
            remedy="Give its absolute path, or install it; `spaced agents` shows known agents.",
        )
    return [str(Path(found).absolute()), *arguments]


def _milliseconds(duration: str) -> int:
    from spaced.daemon.setting_types import Duration, Unfit

    kind = Duration()
    try:
        return kind.read(duration)
    except Unfit as error:
        raise click.BadParameter(
            f"{duration!r} must be {kind.allowed}", param_hint="--cancel-grace"
        ) from error


def _switch(reach: Reach, profile: str, *, enabled: bool) -> None:
    from spaced.client import calls

    place = reach.place()
    call = calls.change_profile(_named(place, profile), {"enabled": enabled})
    changed = calls.perform(place, call)
    if reach.as_json:
        print_json(changed)
    else:
        click.echo(changed.status)


def _named(place: "Place", name: str) -> str:
    """Return the id of the profile that is meant; one that is no name is taken for an id."""
    from spaced.client import calls

    found = calls.perform(place, calls.profiles()).profiles
    same = [one.id for one in found if one.name == name]
    if any(one.id == name for one in found) or len(same) != 1:
        return name
    return same[0]


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"{text[:60]!r} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidRequest(f"{text[:60]!r} is no JSON object")
    return value
