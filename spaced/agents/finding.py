"""Finds agents on this machine. Nothing is run for that: files say what is there."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from spaced.agents.catalogue import Catalogue, read_catalogue
from spaced.agents.entries import Entry

LoginState = Literal["ready", "missing", "optional"]

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
    """

    environment: Mapping[str, str]
    home: Path
    installed: Path

    def places(self, agent_id: str) -> Iterator[Path]:
        """Yield the folders that may hold an agent's program, the best first."""
        for place in self.environment.get("PATH", os.defpath).split(os.pathsep):
            if place.startswith("/"):
                yield Path(place)
        yield self.installed / agent_id / "node_modules" / ".bin"
        yield self.installed / agent_id / "bin"
        yield from (self.home / place for place in _HOME_PLACES)
        yield from map(Path, _PLACES)
        yield from sorted(self.home.glob(_NODE_PLACES), reverse=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAgent:
    """An agent of the catalogue, and what this machine has of it.

    Attributes:
        program: its absolute path; `None`: it is not installed.
        version: as its package tells; `None` if that is not to be seen.
        login: whether somebody seems to be logged in.
        hints: what a person should do or know, a sentence each.
    """

    entry: Entry
    program: str | None
    version: str | None
    login: LoginState
    hints: Sequence[str]


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
    program, hints = _program(entry, machine)
    login = _login(entry, machine)
    if program is not None and login == "missing":
        hints = (*hints, f"log in first: {entry.launch.login.how}")
    return FoundAgent(
        entry=entry,
        program=None if program is None else str(program),
        version=None if program is None else _version(entry, program),
        login=login,
        hints=(*hints, *entry.launch.hints) if program is not None else hints,
    )


def _program(entry: Entry, machine: Machine) -> tuple[Path | None, tuple[str, ...]]:
    """Return the first program that can be run, and what is wrong with those that cannot."""
    hints: list[str] = []
    for place in machine.places(entry.id):
        for name in entry.launch.programs:
            path = place / name
            if not path.is_file():
                continue
            if os.access(path, os.X_OK):
                # Not the file behind a link: an update moves that, and Node looks beside the link.
                return path.absolute(), tuple(hints)
            hints.append(f"{path} is there and cannot be run: chmod +x {path}")
    return None, tuple(hints)


def _login(entry: Entry, machine: Machine) -> LoginState:
    login = entry.launch.login
    if any(machine.environment.get(name) for name in login.variables):
        return "ready"
    if any((machine.home / name.removeprefix("~/")).exists() for name in login.files):
        return "ready"
    return "optional" if login.is_optional else "missing"


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
        except (OSError, ValueError):
            continue
        if isinstance(told, dict) and str(told.get("name", "")).startswith(package):
            return str(told.get("version")) if told.get("version") else None
    return None


def _pip_version(package: str, program: Path) -> str | None:
    """Return the version in the name of a package's metadata, in the program's own environment."""
    name = package.replace("-", "_")
    # Of the link's own folder, or of the environment that the link leads to.
    for folder in dict.fromkeys((program.parent, program.resolve().parent)):
        found = sorted(folder.parent.glob(f"lib/python*/site-packages/{name}-*.dist-info"))
        if found:
            return found[-1].name.removesuffix(".dist-info").partition("-")[2]
    return None
