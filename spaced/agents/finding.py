"""Finds agents on this machine. Nothing is run for that: files say what is there."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from spaced.agents.catalogue import Catalogue, read_catalogue
from spaced.agents.entries import Entry
from spaced.agents.interpreters import interpreter_problem
from spaced.agents.presence import is_file, is_there, matching
from spaced.domain.profile import Profile

LoginState = Literal["ready", "missing", "optional", "unknown"]

# Where installers put programs that a daemon's PATH often lacks: it was started by a service
# manager or a desktop, and not by a login shell.
_HOME_PLACES: Final = (".local/bin", ".opencode/bin", ".bun/bin", ".npm-global/bin", "bin")
_PLACES: Final = ("/usr/local/bin", "/opt/homebrew/bin")
_NODE_PLACES: Final = ".nvm/versions/node/*/bin"
_PARENTS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What is looked at.

    Attributes:
        environment: the variables of whoever will start the agents.
        installed: the folder in which `spaced agents install` puts each agent.
        system: as `sys.platform` names it.
    """

    environment: Mapping[str, str]
    home: Path
    installed: Path
    system: str = sys.platform

    def places(self, agent_id: str) -> Iterator[Path]:
        """Yield the folders that may hold an agent's program, the best first."""
        for place in self.environment.get("PATH", os.defpath).split(os.pathsep):
            if place.startswith("/"):
                yield Path(place)
        yield self.installed / agent_id / "node_modules" / ".bin"
        yield self.installed / agent_id / "bin"
        yield from (self.home / place for place in _HOME_PLACES)
        yield from map(Path, _PLACES)
        yield from sorted(matching(self.home, _NODE_PLACES), key=_node_order, reverse=True)

    def has_file(self, names: Iterable[str]) -> bool:
        """Tell whether one of the files is there; `~` is the home folder."""
        return any(is_there(self.home / name.removeprefix("~/")) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAgent:
    """An agent of the catalogue, and what this machine has of it.

    Attributes:
        program: its absolute path; `None`: it is not installed.
        version: as its package tells; `None` if that is not to be seen.
        login: whether somebody seems to be logged in.
        problems: what keeps it from being started, a sentence each.
        hints: what else a person should do or know, a sentence each.
    """

    entry: Entry
    program: str | None
    version: str | None
    login: LoginState
    problems: Sequence[str]
    hints: Sequence[str]

    @property
    def profile(self) -> Profile | None:
        """A profile for it, if it is installed."""
        return None if self.program is None else self.entry.profile(self.program)


class Agents:
    """Looks for the agents of a catalogue, anew each time: they come and go."""

    def __init__(self, machine: Machine, folder: Path | None) -> None:
        """Know where to look.

        Args:
            folder: a person's own entries.
        """
        self._machine = machine
        self._folder = folder

    def catalogue(self) -> Catalogue:
        """Return what is known."""
        return read_catalogue(self._folder)

    def look(self, entries: Iterable[Entry] | None = None) -> Sequence[FoundAgent]:
        """Return each agent with what is here of it."""
        wanted = self.catalogue().entries if entries is None else entries
        return tuple(find(entry, self._machine) for entry in wanted)


def find(entry: Entry, machine: Machine) -> FoundAgent:
    """Return an agent with what is on a machine of it."""
    program, problems = _program(entry, machine)
    login = _login(entry, machine)
    return FoundAgent(
        entry=entry,
        program=None if program is None else str(program),
        version=None if program is None else _version(entry, program),
        login=login,
        problems=problems,
        hints=() if program is None else _hints(entry, login),
    )


def _program(entry: Entry, machine: Machine) -> tuple[Path | None, tuple[str, ...]]:
    """Return the first program that can be run, and what is wrong with it or with the others."""
    unfit: list[str] = []
    for place in machine.places(entry.id):
        for name in entry.launch.programs:
            path = place / name
            if not is_file(path):
                continue
            if os.access(path, os.X_OK):
                # Not the file behind a link: an update moves that, and Node looks beside the link.
                program = path.absolute()
                problem = interpreter_problem(entry, program, machine.environment)
                return program, () if problem is None else (problem,)
            unfit.append(f"{path} is there and cannot be run: chmod +x {path}")
    return None, tuple(dict.fromkeys(unfit))


def _hints(entry: Entry, login: LoginState) -> tuple[str, ...]:
    how = entry.launch.login.how
    first = (f"log in first: {how}",) if login == "missing" and how else ()
    return (*first, *entry.launch.hints)


def _login(entry: Entry, machine: Machine) -> LoginState:
    login = entry.launch.login
    if any(machine.environment.get(name) for name in login.variables):
        return "ready"
    if machine.has_file(login.files):
        return "ready"
    if login.is_optional:
        return "optional"
    can_be_seen = (login.variables or login.files) and machine.system not in login.unseen_on
    return "missing" if can_be_seen else "unknown"


def _node_order(place: Path) -> tuple[int, ...]:
    """Return what puts the versions of Node in their order: 22 comes after 9."""
    return tuple(map(int, re.findall(r"[0-9]+", place.parent.name)))


def _version(entry: Entry, program: Path) -> str | None:
    distribution = entry.distribution
    if distribution.npx is not None:
        return _npm_version(distribution.npx.package.rpartition("@")[0], program.resolve())
    if distribution.uvx is not None:
        return _pip_version(distribution.uvx.package.partition("=")[0], program)
    return None


def _npm_version(package: str, program: Path) -> str | None:
    """Return the version in the `package.json` above a program."""
    for folder in list(program.parents)[:_PARENTS]:
        try:
            told = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(told, dict) and str(told.get("name", "")).startswith(package):
            return str(told.get("version")) if told.get("version") else None
    return None


def _pip_version(package: str, program: Path) -> str | None:
    """Return the version in the name of a package's metadata, in the program's own environment."""
    name = package.replace("-", "_")
    # Of the link's own folder, or of the environment that the link leads to.
    for folder in dict.fromkeys((program.parent, program.resolve().parent)):
        found = matching(folder.parent, f"lib/python*/site-packages/{name}-*.dist-info")
        if found:
            return found[-1].name.removesuffix(".dist-info").partition("-")[2]
    return None
