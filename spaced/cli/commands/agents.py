"""`spaced agents`: which agents there are, which are installed here, and how to get one."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spaced.cli.listing_group import ListingGroup
from spaced.cli.output import facts, print_json, shown, table
from spaced.cli.reach import Reach, reaching
from spaced.errors import RuntimeProblem
from spaced.refusals import InvalidRequest, NoDaemon, NotFound

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
    found = _found(reach)
    if reach.as_json:
        print_json(found)
        return
    table(
        ("agent", "is", "version", "login", "what"),
        [(one.id, _state(one), one.installed, _login(one), one.name) for one in found.agents],
    )
    for problem in found.problems:
        click.echo(shown(problem), err=True)
    click.echo(_next_step(found))


@agents.command()
@click.argument("agent")
@reaching
def show(*, agent: str, reach: Reach) -> None:
    """Show all that is known of AGENT: where it is, how to install it, how to log in."""
    found = _one(_found(reach), agent)
    if reach.as_json:
        print_json(found)
        return
    facts(
        {
            "agent": f"{found.name} ({found.id})",
            "what": found.description,
            "website": found.website,
            "program": found.program or "not installed",
            "version": found.installed or "unknown",
            "known as": found.latest,
            "log in": f"{found.log_in} ({found.login})",
            "install": _install_line(reach, agent),
        }
    )
    for hint in found.hints:
        click.echo(f"- {shown(hint)}")


@agents.command()
@click.argument("agent")
@click.option("--name", help="What the profile is called; as the agent by default.")
@reaching
def add(*, agent: str, name: str | None, reach: Reach) -> None:
    """Add a profile for AGENT, which is installed, and print its id."""
    from spaced.client import calls
    from spaced.client.fresh_ids import fresh_id

    place = reach.place()
    detected = calls.perform(place, calls.detected_profiles()).profiles
    found = next((one for one in detected if one.agent_id == agent), None)
    if found is None:
        _one(_found(reach), agent)
        raise InvalidRequest(
            f"the agent {agent!r} is not installed where the daemon looks",
            remedy=f"`spaced agents install {agent}` installs it.",
        )
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
    looking, entry = _entry(reach, agent)
    plan = _plan(reach, entry)
    click.echo(f"This installs {entry.name} {entry.version}:")
    for command in plan.commands:
        click.echo(f"  {shlex.join(command)}")
    if not yes:
        if not sys.stdin.isatty():
            raise InvalidRequest(
                "nobody is here to agree to that",
                remedy="Run the command yourself, or say --yes.",
            )
        click.confirm("Run it?", abort=True)
    _run(plan)
    found = looking.look([entry])[0]
    if found.program is None:
        raise RuntimeProblem(
            f"{entry.name} was installed, and its program is not where it should be",
            remedy=f"Look into {str(plan.folder)!r}.",
        )
    click.echo(f"{entry.name} is at {found.program}")
    for hint in found.hints:
        click.echo(f"- {hint}")
    click.echo(f"Next: spaced new --agent {entry.id} && spaced chat")


def _found(reach: Reach) -> "AgentList":
    """Return what the daemon finds, or what this terminal does if there is none."""
    from spaced.client import calls

    try:
        return calls.perform(reach.place(), calls.agents())
    except NoDaemon:
        from spaced.api.routes.agents import agent_shape
        from spaced.wire.reports import AgentList

        looking = _looking(reach)
        catalogue = looking.catalogue()
        found = tuple(agent_shape(one) for one in looking.look(catalogue.entries))
        return AgentList(agents=found, problems=tuple(catalogue.broken))


def _looking(reach: Reach) -> "Agents":
    from spaced.daemon.composition import agents_of

    return agents_of(reach.loaded(), os.environ)


def _entry(reach: Reach, agent: str) -> "tuple[Agents, Entry]":
    looking = _looking(reach)
    entry = looking.catalogue().entry(agent)
    if entry is None:
        raise _unknown(agent)
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


def _run(plan: "Installation") -> None:
    made_before = plan.folder.exists()
    plan.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for command in plan.commands:
        ended = subprocess.run(command, check=False)  # noqa: S603 - shown, and agreed to
        if ended.returncode:
            if not made_before:
                shutil.rmtree(plan.folder, ignore_errors=True)
            raise RuntimeProblem(
                f"{Path(command[0]).name} ended with exit code {ended.returncode};"
                " nothing is installed",
                remedy="Its own words above say why.",
            )


def _one(found: "AgentList", agent: str) -> "Agent":
    for one in found.agents:
        if one.id == agent:
            return one
    raise _unknown(agent)


def _unknown(agent: str) -> NotFound:
    return NotFound(
        f"no agent is called {agent!r}", remedy="`spaced agents` lists those that are known."
    )


def _state(agent: "Agent") -> str:
    return "-" if agent.program is None else "installed"


def _login(agent: "Agent") -> str:
    if agent.program is None:
        return ""
    return {"ready": "ready", "missing": "missing", "optional": "as you like"}[agent.login]


def _next_step(found: "AgentList") -> str:
    there = [one for one in found.agents if one.program is not None]
    if not there:
        return (
            "None of them is installed. `spaced agents install opencode` gets one;"
            " `spaced agents show NAME` tells more."
        )
    waiting = [one for one in there if one.login == "missing"]
    ready = [one for one in there if one.login != "missing"]
    if not ready:
        return f"Log in with: {waiting[0].log_in}; then `spaced new --agent {waiting[0].id}`."
    return f"Next: spaced new --agent {ready[0].id} && spaced chat"
