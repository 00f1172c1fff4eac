"""How an agent is installed: into a folder of its own, by the package manager that it comes from.

Never for the whole machine, and never at the moment when it is started.
"""

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from spaced.agents.entries import Entry
from spaced.refusals import InvalidRequest

Which: TypeAlias = Callable[[str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What is to be run, in this order.

    Attributes:
        folder: where the agent will be.
    """

    folder: Path
    commands: Sequence[Sequence[str]]


def installation_of(entry: Entry, installed: Path, *, which: Which = shutil.which) -> Installation:
    """Return how an agent is installed on this machine.

    Args:
        installed: the folder that gets one for each agent.
        which: finds a program.

    Raises:
        InvalidRequest: a program that is needed for it is not here, or nobody knows how.
    """
    folder = installed / entry.id
    if entry.distribution.npx is not None:
        npm = which("npm")
        if npm is None:
            raise InvalidRequest(
                f"{entry.name} comes from npm, which is not installed",
                remedy="Install Node.js, which brings npm along, and try again.",
            )
        options = ("--no-audit", "--no-fund")
        install = (
            npm,
            "install",
            "--prefix",
            str(folder),
            *options,
            entry.distribution.npx.package,
        )
        return Installation(folder=folder, commands=(install,))
    if entry.distribution.uvx is not None:
        python = _python_for(entry, which)
        pip = str(folder / "bin" / "python")
        return Installation(
            folder=folder,
            commands=(
                (python, "-m", "venv", str(folder)),
                (pip, "-m", "pip", "install", "--quiet", entry.distribution.uvx.package),
            ),
        )
    raise InvalidRequest(
        f"spaced does not know how {entry.name} is installed",
        remedy=f"Follow {entry.website or 'its own documentation'}, then try again.",
    )


def _python_for(entry: Entry, which: Which) -> str:
    """Return an interpreter that is new enough: ours, or one of a newer name."""
    oldest = tuple(int(part) for part in (entry.launch.python or "3.11").split("."))
    if sys.version_info[:2] >= oldest:
        return sys.executable
    for minor in range(oldest[1] + 3, oldest[1] - 1, -1):
        found = which(f"python3.{minor}")
        if found is not None:
            return found
    raise InvalidRequest(
        f"{entry.name} needs Python {entry.launch.python} or newer, and none was found",
        remedy="Install one, or install the agent by its own instructions.",
    )
