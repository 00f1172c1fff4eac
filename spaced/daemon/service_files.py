"""Makes the daemon a service of the user: writes files for systemd or launchd, and removes them.

The files ship with spaced; only where spaced lies is filled in. One that somebody else wrote is
never touched, and no folder that was there before is changed.
"""

import os
import re
import shlex
import stat
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from spaced.daemon.directories import FOLDER_MODE
from spaced.daemon.private_files import os_refusal, write_private
from spaced.daemon.service_units import Filling, Launchd, Systemd, Unit
from spaced.refusals import Refused

MARKER: Final = "Written by `spaced service install`"
"""What every file of ours says; one without it is somebody else's."""

_LARGEST: Final = 64 * 1024
_PATIENCE: Final = 60

State = Literal["missing", "installed", "differs", "foreign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedResult:
    """What became of a program.

    Attributes:
        output: what it said, errors too.
    """

    exit_status: int
    output: str


Run = Callable[[Sequence[str]], CompletedResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an installation or a removal did, and what is left to do.

    Attributes:
        changed: files that were written or removed.
        problem: why the service manager did not do its part, as a sentence; `None` if it did.
        to_do: the commands that a person runs instead, once they can be.
    """

    changed: tuple[Path, ...]
    problem: str | None = None
    to_do: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """How the service is.

    Attributes:
        files: each file and whether it is there, as this version of spaced would write it.
        units: what the service manager says of each of its units, in its words; empty if there
            is none to ask.
    """

    files: dict[Path, State]
    units: dict[str, str]

    @property
    def state(self) -> State:
        """The state of all files together: what a person has to know first."""
        found = set(self.files.values())
        if found in ({"missing"}, {"installed"}):
            return found.pop()
        return "foreign" if "foreign" in found else "differs"


class ServiceFiles:
    """The service of one user.

    Args:
        platform: as `sys.platform` says it.
        home: the user's folder.
        config: the user's folder for settings of all programs, such as `~/.config`.
        command: an absolute path to spaced, or to a Python, and arguments before `serve`.
        search_path: where the daemon's agents are looked for, as in `PATH`.
        uid: of the user.
        run: runs a program to its end.

    Raises:
        Refused: the system has neither systemd nor launchd, or the command cannot be written down.
    """

    def __init__(
        self,
        *,
        platform: str,
        home: Path,
        config: Path,
        command: Sequence[str],
        search_path: str,
        uid: int,
        run: Run,
    ) -> None:
        if platform not in ("linux", "darwin"):
            raise Refused(
                f"there are no service files for the system {platform!r}",
                remedy="Let the system start `spaced serve` in its own way.",
            )
        filling = Filling(command=tuple(command), search_path=search_path, home=home)
        self._manager = Systemd(config) if platform == "linux" else Launchd(home, uid)
        self._units = self._manager.units(filling)
        self._run = run

    def install(self) -> Outcome:
        """Write the files and start the service; what is there already stays as it is.

        Raises:
            Refused: somebody else wrote one of the files; nothing was changed.
            UnsafePlace: a folder takes no file of ours.
            StorageFull: there is no space.
        """
        states = self._own_states()
        changed = [unit for unit in self._units if states[unit.path] != "installed"]
        for folder in self._manager.folders:
            _make_folder(folder)
        for unit in changed:
            write_private(unit.path, unit.content.encode())
        commands = self._manager.start(is_loaded=self._is_loaded(), is_changed=bool(changed))
        problem, to_do = self._run_all(commands)
        return Outcome(changed=_paths(changed), problem=problem, to_do=to_do)

    def status(self) -> ServiceStatus:
        """Tell what is installed, and how it is."""
        files = {unit.path: _state_of(unit) for unit in self._units}
        units = {}
        for name, command in self._manager.questions.items():
            answer = self._ask(command)
            if answer is not None:
                units[name] = self._manager.understand(answer.exit_status, answer.output)
        return ServiceStatus(files=files, units=units)

    def remove(self) -> Outcome:
        """End the service and remove its files; without any of them there is nothing to do.

        Raises:
            Refused: somebody else wrote one of the files; nothing was changed.
            UnsafePlace: the system does not let go of a file.
        """
        states = self._own_states()
        found = [unit for unit in self._units if states[unit.path] != "missing"]
        if not found:
            return Outcome(changed=())
        problem, to_do = self._run_all(self._manager.stop(is_loaded=self._is_loaded()))
        for unit in found:
            try:
                unit.path.unlink(missing_ok=True)
            except OSError as error:
                raise os_refusal(unit.path, "removed", error) from error
        after = self._manager.forget()
        if problem is None:
            problem, to_do = self._run_all(after)
        else:
            to_do += tuple(map(shlex.join, after))
        return Outcome(changed=_paths(found), problem=problem, to_do=to_do)

    def _own_states(self) -> dict[Path, State]:
        states = {unit.path: _state_of(unit) for unit in self._units}
        for path, state in states.items():
            if state == "foreign":
                raise Refused(
                    f"{path} was not written by spaced, so it stays as it is",
                    remedy="Move it away and try again, or let it start `spaced serve`.",
                )
        return states

    def _is_loaded(self) -> bool:
        answer = self._ask(self._manager.is_loaded) if self._manager.is_loaded else None
        return answer is not None and answer.exit_status == 0

    def _ask(self, command: Sequence[str]) -> CompletedResult | None:
        try:
            return self._run(command)
        except FileNotFoundError:
            return None

    def _run_all(self, commands: Sequence[Sequence[str]]) -> tuple[str | None, tuple[str, ...]]:
        """Run commands up to the first that fails; return why it did, and what was not done."""
        for done, command in enumerate(commands):
            answer = self._ask(command)
            if answer is not None and answer.exit_status == 0:
                continue
            left = tuple(map(shlex.join, commands[done:]))
            if answer is None:
                return f"there is no {command[0]} here", left
            said = " ".join(answer.output.split()) or f"exit status {answer.exit_status}"
            return f"`{shlex.join(command)}` failed: {said}", left
        return None, ()


def run_program(command: Sequence[str]) -> CompletedResult:
    """Run a program to its end, without input.

    Raises:
        FileNotFoundError: there is no such program.
    """
    try:
        done = subprocess.run(  # noqa: S603 - the commands are ours
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return CompletedResult(exit_status=-1, output=f"no answer after {_PATIENCE} seconds")
    return CompletedResult(exit_status=done.returncode, output=done.stdout.decode(errors="replace"))


def _paths(units: Sequence[Unit]) -> tuple[Path, ...]:
    return tuple(unit.path for unit in units)


def _state_of(unit: Unit) -> State:
    try:
        found = unit.path.lstat()
        # A link too is somebody else's: of who manages such files elsewhere, or a mask of systemd.
        if not stat.S_ISREG(found.st_mode):
            return "foreign"
        with unit.path.open("rb") as file:
            content = file.read(_LARGEST).decode(errors="replace")
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        raise os_refusal(unit.path, "read", error) from error
    if MARKER not in content:
        return "foreign"
    return "installed" if re.fullmatch(unit.pattern, content) else "differs"


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it for us alone; leave those that are there as they are."""
    try:
        missing = [one for one in (folder, *folder.parents) if not os.path.lexists(one)]
        for one in reversed(missing):
            one.mkdir(mode=FOLDER_MODE, exist_ok=True)
            one.chmod(FOLDER_MODE)  # a strict umask takes bits away
    except OSError as error:
        raise os_refusal(folder, "made", error) from error
