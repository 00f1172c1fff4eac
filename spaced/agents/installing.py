"""How an agent is installed: into a folder of its own, by the package manager that it comes from.

Never for the whole machine, and never at the moment when it is started.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

from spaced.agents.entries import Entry
from spaced.errors import RuntimeProblem
from spaced.refusals import InvalidRequest

Which: TypeAlias = Callable[[str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What is to be run, in this order.

    Attributes:
        folder: where the agent will be.
        programs: where its program will be, under one of these paths.
    """

    folder: Path
    commands: Sequence[Sequence[str]]
    programs: Sequence[Path]


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
        commands = _npm_commands(entry, entry.distribution.npx.package, folder, which)
        programs = folder / "node_modules" / ".bin"
    elif entry.distribution.uvx is not None:
        commands = _pip_commands(entry, entry.distribution.uvx.package, folder, which)
        programs = folder / "bin"
    else:
        raise InvalidRequest(
            f"spaced does not know how {entry.name} is installed",
            remedy=f"Follow {entry.website or 'its own documentation'}, then try again.",
        )
    return Installation(
        folder=folder,
        commands=commands,
        programs=tuple(programs / name for name in entry.launch.programs),
    )


def run_installation(plan: Installation, *, output: IO[str] | None = None) -> Path:
    """Run what somebody has agreed to, and return the program that is there now.

    What did not come to an end, also if it was interrupted, leaves nothing of a new folder.

    Args:
        output: where the package manager prints; our own output by default.

    Raises:
        RuntimeProblem: the package manager failed, or the program is not where it should be.
    """
    with _all_or_nothing(plan.folder):
        for command in plan.commands:
            # Shown before, and agreed to.
            ended = subprocess.run(command, check=False, stdout=output)  # noqa: S603
            if ended.returncode:
                raise RuntimeProblem(
                    f"{Path(command[0]).name} ended with exit code {ended.returncode};"
                    " nothing is installed",
                    remedy="Its own words above say why.",
                )
    for program in plan.programs:
        if program.is_file():
            return program
    raise RuntimeProblem(
        f"the package manager went well, and there is no {str(plan.programs[0])!r}",
        remedy=f"Look into {str(plan.folder)!r}, or report that the catalogue is wrong.",
    )


@contextmanager
def _all_or_nothing(folder: Path) -> Iterator[None]:
    is_new = not folder.exists()
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        yield
    except BaseException:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _npm_commands(
    entry: Entry, package: str, folder: Path, which: Which
) -> tuple[tuple[str, ...], ...]:
    npm = which("npm")
    if npm is None:
        raise InvalidRequest(
            f"{entry.name} comes from npm, which is not installed",
            remedy="Install Node.js, which brings npm along, and try again.",
        )
    return ((npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", package),)


def _pip_commands(
    entry: Entry, package: str, folder: Path, which: Which
) -> tuple[tuple[str, ...], ...]:
    python = _python_for(entry, which)
    pip = (str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", package)
    return ((python, "-m", "venv", str(folder)), pip)


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
