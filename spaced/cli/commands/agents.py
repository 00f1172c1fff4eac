"""`spaced agents`: which agents there are, which are installed here, and how to get one."""

import os
import shlex
import sys
from typing import TYPE_CHECKING

import click

from spaced.cli.listing_group import ListingGroup
from spaced.cli.output import facts, print_json, shown, table
from spaced.cli.reach import Reach, reaching
from spaced.refusals import InvalidRequest, NoDaemon

if TYPE_CHECKING:
    from spaced.agents.entries import Entry
    from spaced.agents.finding import Agents
    from spaced.agents.installing import Installation
    from spaced.wire.reports import Agent, AgentList


@click.group(cls=ListingGroup)
def agents() -> None:
    """Show which agents are installed here, and install more; alone it lists them."""


@agents.command("list")
@reaching
def list_agents(*, reach: Reach) -> None:
    """List the agents that are known, and what is here of each.

    With a running daemon it is asked, since it is the one that starts them; without one this
    terminal's own PATH is looked at.
    """
    found, is_daemons = _found(reach)
    if reach.as_json:
        print_json(found)
        return
    table(
        ("agent", "is", "version", "login", "what"),
        [(one.id, _state(one), one.installed, _login(one), one.name) for one in found.agents],
    )
    for one in found.agents:
        for problem in one.problems:
            click.echo(f"{one.id}: {shown(problem)}")
    for problem in found.problems:
        click.echo(shown(problem), err=True)
    if not is_daemons:
        click.echo("No daemon runs (`spaced up` starts one); this is what your own PATH has.")
    click.echo(shown(_next_step(found)))


@agents.command()
@click.argument("agent")
@reaching
def show(*, agent: str, reach: Reach) -> None:
    """Show all that is known of AGENT: where it is, how to install it, how to log in."""
    found, _ = _found(reach)
    one = _one(found, agent)
    if reach.as_json:
        print_json(one)
        return
    facts(
        {
            "agent": f"{one.name} ({one.id})",
            "what": one.description,
            "website": one.website,
            "program": one.program or "not installed",
            "version": one.installed or "unknown",
            "known as": one.latest,
            "log in": f"{one.log_in} ({one.login})".strip(),
            "install": _install_line(reach, agent),
        }
    )
    for told in (*one.problems, *one.hints):
        click.echo(f"- {shown(told)}")


@agents.command()
@click.argument("agent")
@reaching
def login(*, agent: str, reach: Reach) -> None:
    """Say how to log in to AGENT; you do it in a terminal, as the agent asks questions."""
    found, _ = _found(reach)
    one = _one(found, agent)
    if reach.as_json:
        print_json({"agent": one.id, "login": one.login, "log_in": one.log_in})
        return
    if one.login == "ready":
        click.echo(f"Somebody seems to be logged in to {shown(one.name)} already.")
    if one.log_in:
        click.echo(f"Run this in a terminal: {shown(one.log_in)}")
    else:
        click.echo("Its entry in the catalogue does not say how; look into its own documentation.")


@agents.command()
@click.argument("agent")
@click.option("--name", help="What the profile is called; as the agent by default.")
@reaching
def add(*, agent: str, name: str | None, reach: Reach) -> None:
    """Add a profile for AGENT, which is installed, and print its id."""
    from spaced.cli.chat.beginning import not_installed
    from spaced.client import calls
    from spaced.client.fresh_ids import fresh_id

    place = reach.place()
    detected = calls.perform(place, calls.detected_profiles()).profiles
    found = next((one for one in detected if one.agent_id == agent), None)
    if found is None:
        raise not_installed(place, agent)
    profile_id = fresh_id("prof") if found.exists or name else found.profile_id
    definition = found.definition | ({} if name is None else {"name": name})
    made = calls.perform(place, calls.create_profile(profile_id, definition))
    if reach.as_json:
        print_json(made)
    else:
        click.echo(made.id)


@agents.command()
@click.argument("agent")
@click.option("--yes", is_flag=True, help="Do not ask.")
@reaching
def install(*, agent: str, yes: bool, reach: Reach) -> None:
    """Install AGENT into a folder of its own, after showing the command and asking."""
    from spaced.agents.installing import run_installation
    from spaced.daemon.directories import private_folder

    looking, entry = _entry(reach, agent)
    plan = _plan(reach, entry)
    click.echo(f"This installs {shown(entry.name)} {shown(entry.version)}:", err=reach.as_json)
    for command in plan.commands:
        click.echo(f"  {shown(shlex.join(command))}", err=reach.as_json)
    _agree(yes=yes)
    private_folder(plan.folder.parent)
    program = run_installation(plan, output=sys.stderr if reach.as_json else None)
    _tell_installed(looking, entry, str(program), as_json=reach.as_json)


def _agree(*, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidRequest(
            "nobody is here to agree to that", remedy="Run the command yourself, or say --yes."
        )
    click.confirm("Run it?", abort=True, err=True)


def _tell_installed(looking: "Agents", entry: "Entry", program: str, *, as_json: bool) -> None:
    from spaced.api.routes.agents import agent_shape

    (found,) = looking.look([entry])
    if as_json:
        print_json(agent_shape(found))
        return
    click.echo(f"{shown(entry.name)} is at {shown(program)}")
    if found.program != program:
        click.echo(f"- {shown(found.program)} comes before it on your PATH, and is taken")
    for told in (*found.problems, *found.hints):
        click.echo(f"- {shown(told)}")
    click.echo(f"Next: spaced new --agent {entry.id} && spaced chat")


def _found(reach: Reach) -> "tuple[AgentList, bool]":
    """Return what the daemon finds, or what this terminal does, and whether it was the daemon."""
    from spaced.client import calls

    try:
        return calls.perform(reach.place(), calls.agents()), True
    except NoDaemon:
        from spaced.api.routes.agents import agent_shape
        from spaced.wire.reports import AgentList

        looking = _looking(reach)
        catalogue = looking.catalogue()
        found = tuple(agent_shape(one) for one in looking.look(catalogue.entries))
        return AgentList(agents=found, problems=tuple(catalogue.broken)), False


def _looking(reach: Reach) -> "Agents":
    from spaced.daemon.composition import agents_of

    return agents_of(reach.loaded(), os.environ)


def _entry(reach: Reach, agent: str) -> "tuple[Agents, Entry]":
    from spaced.agents.catalogue import unknown_agent

    looking = _looking(reach)
    entry = looking.catalogue().entry(agent)
    if entry is None:
        raise unknown_agent(agent)
    return looking, entry


def _plan(reach: Reach, entry: "Entry") -> "Installation":
    from spaced.agents.installing import installation_of

    return installation_of(entry, reach.settings().data_dir / "agents")


def _install_line(reach: Reach, agent: str) -> str:
    try:
        plan = _plan(reach, _entry(reach, agent)[1])
    except InvalidRequest as error:
        return error.message
    return " && ".join(shlex.join(command) for command in plan.commands)


def _one(found: "AgentList", agent: str) -> "Agent":
    from spaced.agents.catalogue import unknown_agent

    for one in found.agents:
        if one.id == agent:
            return one
    raise unknown_agent(agent)


def _state(agent: "Agent") -> str:
    if agent.problems:
        return "broken"
    return "-" if agent.program is None else "installed"


def _login(agent: "Agent") -> str:
    if agent.program is None:
        return ""
    return {"optional": "as you like", "unknown": "?"}.get(agent.login, agent.login)


def _next_step(found: "AgentList") -> str:
    if all(one.program is None for one in found.agents):
        return (
            "None of them is installed. `spaced agents install opencode` gets one;"
            " `spaced agents show NAME` tells more."
        )
    there = [one for one in found.agents if one.program is not None and not one.problems]
    if not there:
        return "None of them can be started; what is to be done stands above."
    ready = [one for one in there if one.login != "missing"]
    if not ready:
        first = there[0].id
        return (
            f"Log in (`spaced agents login {first}` says how), then `spaced new --agent {first}`."
        )
    return f"Next: spaced new --agent {ready[0].id} && spaced chat"
