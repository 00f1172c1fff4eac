"""What a settings file, the environment and the command line say, each value with its origin.

A source never stops at its first mistake: each becomes a finding, and all are reported at once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from spaced.daemon.setting_keys import (
    KEYS,
    OTHER_VARIABLES,
    PREFIX,
    SettingKey,
    is_table,
    key_at,
    key_named,
    key_of_variable,
)
from spaced.daemon.setting_types import Place, Switch, Unfit, describe
from spaced.daemon.settings_file import SettingsFile

_DEEPEST_KEY: Final = max(len(key.path) for key in KEYS)
_ALIKE: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A value that one source says.

    Attributes:
        path: its place in the file; of a family this is the place itself.
        value: as its type reads it.
        origin: where it was found, for people.
    """

    key: SettingKey
    path: tuple[str, ...]
    value: object = field(repr=False)
    origin: str


@dataclass(slots=True, kw_only=True)
class Sources:
    """Collects what is said, and what is wrong about it.

    Attributes:
        said: values, by their path; what is said later replaces what was said before.
        findings: a sentence for each mistake.
    """

    said: dict[tuple[str, ...], Said] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    def take_file(self, file: SettingsFile) -> None:
        """Take what a file says."""
        for path, found in _leaves(file.values):
            origin = file.place_of(path)
            if key := key_at(path):
                self._take(key, path, found, origin)
            elif is_table(path):
                self.findings.append(
                    f"{origin}: {_dotted(path)} is {describe(found)}, but must be a table"
                )
            else:
                names = [key.name for key in KEYS if not key.is_family]
                hint = _nearest(_dotted(path), names)
                name = describe(_dotted(path))
                self.findings.append(f"{origin}: there is no setting {name}{hint}")

    def take_environment(self, environment: Mapping[str, str]) -> None:
        """Take what the `SPACED_*` variables say; an empty one says nothing."""
        for variable in sorted(environment):
            if not variable.startswith(PREFIX) or variable in OTHER_VARIABLES:
                continue
            if key := key_of_variable(variable):
                if environment[variable]:
                    self._take_text(key, environment[variable], variable)
            else:
                self._miss_variable(variable)

    def take_flags(self, flags: Mapping[str, object]) -> None:
        """Take what the command line says, by the names of keys; `None` and `()` say nothing."""
        for name, found in flags.items():
            key = key_named(name)
            if key is None or key.flag is None:
                self.findings.append(f"the command line: no flag says {name!r}")
            elif found is not None and found != ():
                self._take_flag(key, found)

    def _take_flag(self, key: SettingKey, found: object) -> None:
        origin = key.flag or ""
        if isinstance(key.type, Switch) and found is False:
            origin = origin.replace("--", "--no-", 1)
        if isinstance(key.type, Place) and isinstance(found, str | Path) and str(found):
            place = str(found)  # a person who types a relative path means the folder they are in
            found = place if place.startswith("~") else str(Path(place).absolute())
        if isinstance(found, str):
            self._take_text(key, found, origin)
        else:
            self._take(key, key.path, list(found) if isinstance(found, tuple) else found, origin)

    def _take_text(self, key: SettingKey, text: str, origin: str) -> None:
        try:
            text.encode()
            found = key.type.from_text(text)
        except UnicodeEncodeError:
            self.findings.append(f"{origin}: the value is no text in UTF-8")
        except Unfit as error:
            self._refuse(key, key.path, text, origin, error)
        else:
            self._take(key, key.path, found, origin)

    def _take(self, key: SettingKey, path: tuple[str, ...], found: object, origin: str) -> None:
        try:
            value = key.type.read(found)
        except Unfit as error:
            self._refuse(key, path, found, origin, error)
        else:
            self.said[path] = Said(key=key, path=path, value=value, origin=origin)

    def _refuse(
        self, key: SettingKey, path: Sequence[str], found: object, origin: str, error: Unfit
    ) -> None:
        what = describe(found, secret=key.secret)
        why = f" ({error})" if str(error) else ""
        self.findings.append(
            f"{origin}: {_dotted(path)} is {what}, but must be {key.type.allowed}{why}"
        )

    def _miss_variable(self, variable: str) -> None:
        path = variable.removeprefix(PREFIX).lower().split("_")
        if any(key.is_family and key.path[0] == path[0] for key in KEYS):
            hint = f"; {path[0]}.* can be said in the settings file only"
        else:
            known = [key.variable for key in KEYS if key.variable]
            hint = _nearest(variable, [*known, *OTHER_VARIABLES])
        self.findings.append(f"the environment: {variable} is no variable of spaced{hint}")


def _leaves(
    table: Mapping[str, object], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield every value of a file with its path, down to where a key ends or none can be."""
    for name, found in table.items():
        path = (*above, name)
        if isinstance(found, dict) and key_at(path) is None and len(path) < _DEEPEST_KEY:
            yield from _leaves(found, path)
            if not found and not is_table(path):
                yield path, found
        else:
            yield path, found


def _dotted(path: Iterable[str]) -> str:
    return ".".join(path)


def _nearest(name: str, known: Sequence[str]) -> str:
    """Return a hint at what was probably meant, or nothing."""
    from difflib import get_close_matches

    plain = {_plain(other): other for other in known}
    last = _plain(name).rpartition("_")[2]
    close = get_close_matches(_plain(name), plain, n=1, cutoff=_ALIKE)
    close = close or [other for other in plain if other.rpartition("_")[2] == last]
    return f"; did you mean {plain[close[0]]}?" if close else ""


def _plain(name: str) -> str:
    return name.removeprefix(PREFIX).lower().replace(".", "_")
