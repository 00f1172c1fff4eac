"""What the value of a setting can be, how it is read from a file or a text, and how it is shown.

A type takes what TOML holds; the text of a variable or a flag becomes that first. So both ways of
saying something have one set of rules.
"""

import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from math import isfinite
from pathlib import Path
from typing import Any, Final

_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(ms|s|m|h|d)?")
_UNITS: Final = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_LONGEST_MS: Final = 36_500 * _UNITS["d"]
_SHOWN: Final = 60
_HUGE: Final = 10**20
_DEEPEST_TABLE: Final = 16


class Unfit(ValueError):
    """A value is not what its type allows; the message adds something to that, or is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingType(ABC):
    """A kind of values.

    Attributes:
        allowed: what a value has to be, to go on after "must be".
    """

    allowed: str

    def from_text(self, text: str) -> object:
        """Return what a text of a variable or a flag would be in TOML."""
        return text

    @abstractmethod
    def read(self, found: object) -> object:
        """Return what TOML holds as a value.

        Raises:
            Unfit: it is something else than what is allowed.
        """

    def show(self, value: Any) -> object:
        """Return a value as JSON can hold it and a person would write it."""
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(SettingType):
    """A text of a certain form.

    Attributes:
        form: a pattern that the whole text matches.
    """

    allowed: str = "text"
    form: str = r"(?s:.*)"

    def read(self, found: object) -> str:
        if not isinstance(found, str) or re.fullmatch(self.form, found) is None:
            raise Unfit
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(SettingType):
    """One of a few words."""

    allowed: str = field(init=False)
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        *most, last = self.words
        object.__setattr__(self, "allowed", f"{', '.join(most)} or {last}")

    def read(self, found: object) -> str:
        if not isinstance(found, str) or found.lower() not in self.words:
            raise Unfit
        return found.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch(SettingType):
    """Something that is on or off."""

    allowed: str = "true or false"

    def from_text(self, text: str) -> object:
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)

    def read(self, found: object) -> bool:
        if not isinstance(found, bool):
            raise Unfit
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeNumber(SettingType):
    """A whole number within bounds, both of which belong to them."""

    allowed: str = field(init=False)
    least: int
    most: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "allowed", f"a whole number from {self.least} to {self.most}")

    def from_text(self, text: str) -> object:
        return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else text

    def read(self, found: object) -> int:
        if isinstance(found, bool) or not isinstance(found, int):
            raise Unfit
        if not self.least <= found <= self.most:
            raise Unfit
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration(SettingType):
    """A length of time; its value is a number of whole milliseconds."""

    allowed: str = field(init=False)
    least_ms: int = 0

    def __post_init__(self) -> None:
        least = f", at least {self.show(self.least_ms)}" if self.least_ms else ""
        words = 'a duration such as "500ms", "10s", "5m", "2h" or "7d", or a number of seconds'
        object.__setattr__(self, "allowed", words + least)

    def read(self, found: object) -> int:
        number, unit = self._parts(found)
        milliseconds = number * _UNITS[unit]
        if not self.least_ms <= milliseconds <= _LONGEST_MS:
            raise Unfit("it is too short" if milliseconds < self.least_ms else "it is too long")
        return round(milliseconds)

    def show(self, value: Any) -> object:
        unit = next(unit for unit, size in _UNITS.items() if value % size == 0)
        return f"{value // _UNITS[unit]}{unit}" if value else "0s"

    def _parts(self, found: object) -> tuple[float, str]:
        if isinstance(found, str) and (match := _DURATION.fullmatch(found)):
            return float(match[1]), match[2] or "s"
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise Unfit
        if not isfinite(found):
            raise Unfit
        return found, "s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place(SettingType):
    """A file or folder; its value is an absolute path, or `None` for the default place."""

    allowed: str = "an absolute path, or one that begins with ~/"

    def read(self, found: object) -> Path | None:
        if not isinstance(found, str) or "\0" in found:
            raise Unfit
        if not found:
            return None
        try:
            place = Path(found).expanduser()
        except RuntimeError as error:
            raise Unfit("that user has no home folder") from error
        if not place.is_absolute():
            raise Unfit("a relative path is another place for every program that reads it")
        return place

    def show(self, value: Any) -> object:
        return str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts(SettingType):
    """A list of texts of a certain form; in a variable they are separated by commas."""

    form: str

    def from_text(self, text: str) -> object:
        if text.startswith("["):
            return toml_value(text)
        return [part.strip() for part in text.split(",") if part.strip()]

    def read(self, found: object) -> tuple[str, ...]:
        if not isinstance(found, list):
            raise Unfit
        for entry in found:
            if not isinstance(entry, str) or re.fullmatch(self.form, entry) is None:
                raise Unfit(f"it holds {describe(entry)}")
        return tuple(found)

    def show(self, value: Any) -> object:
        return list(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables(SettingType):
    """A list of tables that JSON can hold."""

    allowed: str = "a list of tables of texts, numbers, true, false, lists and tables"

    def from_text(self, text: str) -> object:
        return toml_value(text)

    def read(self, found: object) -> tuple[Mapping[str, object], ...]:
        if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
            raise Unfit
        if not _fits_json(found, _DEEPEST_TABLE):
            raise Unfit("it holds a time, nan or inf, or is nested too deep")
        return tuple(found)

    def show(self, value: Any) -> object:
        return list(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anything(SettingType):
    """Whatever TOML can hold; its reader knows more."""

    allowed: str = "anything"

    def read(self, found: object) -> object:
        return found


def toml_value(text: str) -> object:
    """Return what TOML makes of a text after an equals sign.

    Raises:
        Unfit: it is no value of TOML.
    """
    try:
        document = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError) as error:
        raise Unfit("it is no value as TOML writes it") from error
    if set(document) != {"value"}:
        raise Unfit("it is more than one value")
    return document["value"]


def describe(found: object, *, secret: bool = False) -> str:
    """Return in a few words what was found; of a secret only what kind of thing it is."""
    match found:
        case str():
            return "a text" if secret else _quoted(found)
        case bool():
            return "true or false" if secret else str(found).lower()
        case int() | float():
            return "a number" if secret or abs(found) >= _HUGE else repr(found)
        case list():
            return "a list"
        case dict():
            return "a table"
        case date() | time():
            return "a date or time"
        case _:
            return "a value of another kind"


def _quoted(text: str) -> str:
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}…"


def _fits_json(value: object, depth: int) -> bool:
    match value:
        case _ if depth == 0:
            return False
        case dict():
            return all(_fits_json(entry, depth - 1) for entry in value.values())
        case list():
            return all(_fits_json(entry, depth - 1) for entry in value)
        case float():
            return isfinite(value)
        case _:
            return isinstance(value, str | int)
