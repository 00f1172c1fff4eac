"""What systemd and launchd each want: their files, where these lie, and the commands to run."""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spaced.refusals import Refused
from spaced.resources import folder

SOCKET: Final = "spaced.socket"
SERVICE: Final = "spaced.service"
LABEL: Final = "spaced"

_SYSTEMCTL: Final = ("systemctl", "--user")
_UNQUOTED: Final = re.compile(r"[\w/.+=:@,-]+", re.ASCII)
_UNWRITABLE: Final = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_ANY_PATH: Final = "@PATH@"
_PLAIN_NAME: Final = "Install spaced in a folder with a plain name."

Command = Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What is filled into the files.

    Attributes:
        command: what to run before `serve`; the first word is an absolute path.
        search_path: as in `PATH`; entries that mean another place in every folder are left out.
        home: the user's folder.
    """

    command: tuple[str, ...]
    search_path: str
    home: Path

    def __post_init__(self) -> None:
        if not self.command or not self.command[0].startswith("/"):
            raise Refused(
                f"the command {self.command!r} does not begin with an absolute path",
                remedy="Run `spaced service install` by the full path of spaced.",
            )
        for text in (*self.command, self.search_path, str(self.home)):
            if _UNWRITABLE.search(text):
                raise Refused(
                    f"{text!r} holds characters that no service file can hold",
                    remedy=_PLAIN_NAME,
                )

    @property
    def path(self) -> str:
        """The entries of the search path that always mean the same place."""
        entries = [entry for entry in self.search_path.split(":") if entry.startswith("/")]
        return ":".join(dict.fromkeys(entries))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A file of the service.

    Attributes:
        pattern: a regular expression for what it may hold to count as this one. The search path
            may be another: it is that of the terminal in which the service was installed.
    """

    path: Path
    content: str
    pattern: str


class Systemd:
    """A user's systemd: the socket is there from login on, and starts the daemon."""

    is_loaded: Command | None = None
    questions: Mapping[str, Command] = {
        name: (*_SYSTEMCTL, "is-active", name) for name in (SOCKET, SERVICE)
    }

    def __init__(self, config: Path) -> None:
        self.folders = (config / "systemd" / "user",)

    def units(self, filling: Filling) -> tuple[Unit, ...]:
        """Return the files."""
        values = {
            "@SPACED@": _words(filling.command),
            "@PATH@": _escaped(filling.path),
        }
        (place,) = self.folders
        return tuple(_unit("systemd", name, place, values) for name in (SOCKET, SERVICE))

    def start(self, *, is_loaded: bool, is_changed: bool) -> Sequence[Command]:
        """Return the commands that make the socket listen, now and from the next login on."""
        del is_loaded, is_changed  # both commands do nothing where nothing is to be done
        return ((*_SYSTEMCTL, "daemon-reload"), (*_SYSTEMCTL, "enable", "--now", SOCKET))

    def stop(self, *, is_loaded: bool) -> Sequence[Command]:
        """Return the commands that end the daemon and its socket."""
        del is_loaded
        return ((*_SYSTEMCTL, "disable", "--now", SOCKET, SERVICE),)

    def forget(self) -> Sequence[Command]:
        """Return the commands to run once the files are gone."""
        return ((*_SYSTEMCTL, "daemon-reload"),)

    def understand(self, exit_status: int, output: str) -> str:
        """Return the state of a unit from an answer to a question."""
        del exit_status
        return " ".join(output.split()) or "unknown"


class Launchd:
    """A user's launchd: the daemon runs from login on; its socket it makes itself."""

    def __init__(self, home: Path, uid: int) -> None:
        self.folders = (home / "Library" / "LaunchAgents", home / "Library" / "Logs" / "spaced")
        self._domain = f"gui/{uid}"
        self._service = f"{self._domain}/{LABEL}"
        self._file = self.folders[0] / f"{LABEL}.plist"
        self.is_loaded: Command | None = ("launchctl", "print", self._service)
        self.questions: Mapping[str, Command] = {LABEL: ("launchctl", "print", self._service)}

    def units(self, filling: Filling) -> tuple[Unit, ...]:
        """Return the file."""
        place, logs = self.folders
        values = {
            "@SPACED@": "</string>\n    <string>".join(map(_in_xml, filling.command)),
            "@PATH@": _in_xml(filling.path),
            "@LOGS@": _in_xml(str(logs)),
        }
        return (_unit("launchd", self._file.name, place, values),)

    def start(self, *, is_loaded: bool, is_changed: bool) -> Sequence[Command]:
        """Return the commands that start the daemon; one that runs as it should is left alone."""
        if is_loaded and not is_changed:
            return ()
        return (
            *self.stop(is_loaded=is_loaded),
            ("launchctl", "enable", self._service),
            ("launchctl", "bootstrap", self._domain, str(self._file)),
        )

    def stop(self, *, is_loaded: bool) -> Sequence[Command]:
        """Return the commands that end the daemon."""
        return (("launchctl", "bootout", self._service),) if is_loaded else ()

    def forget(self) -> Sequence[Command]:
        """Return the commands to run once the file is gone."""
        return ()

    def understand(self, exit_status: int, output: str) -> str:
        """Return the state of the service from an answer to a question."""
        if exit_status != 0:
            return "not loaded"
        found = re.search(r"^\s*state = (.+)$", output, re.MULTILINE)
        return found[1] if found else "loaded"


def _unit(kind: str, name: str, place: Path, values: Mapping[str, str]) -> Unit:
    template = folder("service_files").joinpath(kind, name).read_text(encoding="utf-8")
    parts = re.split(f"({'|'.join(values)})", template)
    any_path = {**{key: re.escape(value) for key, value in values.items()}, _ANY_PATH: ".*"}
    return Unit(
        path=place / name,
        content=_joined(parts, values, str),
        pattern=_joined(parts, any_path, re.escape),
    )


def _joined(parts: Sequence[str], values: Mapping[str, str], other: Callable[[str], str]) -> str:
    return "".join(values[part] if part in values else other(part) for part in parts)


def _words(command: Sequence[str]) -> str:
    """Write the words of a command as a unit file holds them."""
    if any(letter in command[0] for letter in "\"'\\"):
        raise Refused(
            f"systemd runs no program whose path has a quote or a backslash, as {command[0]!r} has",
            remedy=_PLAIN_NAME,
        )
    # The colon keeps systemd from putting variables in the place of words with a dollar sign.
    first = ":" if any("$" in word for word in command) else ""
    words = [f"{first}{command[0]}", *command[1:]]
    return " ".join(word if _UNQUOTED.fullmatch(word) else f'"{_escaped(word)}"' for word in words)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")


def _in_xml(text: str) -> str:
    return html.escape(text, quote=False)
