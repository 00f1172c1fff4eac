"""Reads `config.toml`, and knows on which line each of its keys stands.

The file decides which programs run, so one that others may write is refused.
"""

import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from spaced.refusals import InvalidSettings

LARGEST: Final = 1024 * 1024
"""Bytes of the largest settings file that is read."""

TomlPath = tuple[str, ...]

_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*+)*+")
_HEADER: Final = re.compile(r"\[\[?")
_KEY_PART: Final = re.compile(
    r"""[ \t]*+(?P<part>[A-Za-z0-9_-]++|"(?:\\.|[^"\\])*+"|'[^']*+')[ \t]*+(?P<dot>\.)?"""
)
_TOKEN: Final = re.compile(
    r'''
      """ (?: \\. | [^"\\] | "{1,2}(?!") )*+ "{3,5}
    | \'\'\' (?: [^'] | '{1,2}(?!') )*+ '{3,5}
    | " (?: \\. | [^"\\] )*+ "
    | ' [^']*+ '
    | \#[^\n]*+
    | (?P<open> [\[{] )
    | (?P<close> [\]}] )
    | (?P<end> \n )
    | [^"'\#\[\]{}\n]++
    ''',
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """A settings file that was read.

    Attributes:
        values: what TOML makes of it.
        lines: the number of the line on which each table or key begins, from 1.
    """

    path: Path
    values: Mapping[str, object] = field(repr=False)
    lines: Mapping[TomlPath, int]

    def place_of(self, path: Sequence[str]) -> str:
        """Return where a key stands, as a person would say it."""
        for length in range(len(path), 0, -1):
            if line := self.lines.get(tuple(path[:length])):
                return f"{self.path} line {line}"
        return str(self.path)


def read_settings_file(path: Path) -> SettingsFile | None:
    """Return what a settings file says, or `None` if there is none.

    Raises:
        InvalidSettings: it is no file of ours, too large, or no TOML in UTF-8.
    """
    try:
        found = path.stat()
        _check_kind(path, found)
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidSettings(f"{path} cannot be read: {reason}") from error
    text = _text(path, content)
    return SettingsFile(path=path, values=_parse(path, text), lines=dict(_key_lines(text)))


def _check_kind(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise InvalidSettings(f"{path} is a folder, not a settings file")
    if not stat.S_ISREG(found.st_mode):  # opening a pipe would wait for whoever writes to it
        raise InvalidSettings(f"{path} is no plain file")
    if found.st_uid not in (0, os.geteuid()):
        raise InvalidSettings(f"{path} belongs to another user (uid {found.st_uid})")
    if found.st_mode & stat.S_IWOTH:
        raise InvalidSettings(f"everybody may write to {path}; close it with `chmod o-w`")


def _text(path: Path, content: bytes) -> str:
    if len(content) > LARGEST:
        raise InvalidSettings(f"{path} is larger than {LARGEST} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidSettings(f"{path} line {line}: this is no text in UTF-8") from error
    return text.replace("\r\n", "\n")


def _parse(path: Path, text: str) -> Mapping[str, object]:
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise InvalidSettings(f"{path} is no TOML: its values are nested too deep") from error
    except ValueError as error:  # besides its own errors also a number of too many digits
        raise InvalidSettings(f"{path} is no TOML: {error}") from error


def _key_lines(text: str) -> Iterator[tuple[TomlPath, int]]:
    """Yield every key and table of a valid document, of several equal ones the first one last.

    `tomllib` does not tell where a key stands. Since the document is known to be valid, it is
    enough to find the ends of values; keys inside of inline tables are not looked for.
    """
    found = []
    table: TomlPath = ()
    position, line, counted = 0, 1, 0
    while (position := _end_of(_BLANK, text, position)) < len(text):
        line += text.count("\n", counted, position)
        counted = position
        header = _HEADER.match(text, position)
        key, position = _read_key(text, header.end() if header else position)
        if not key:  # cannot be in a valid document; better no line than a loop without end
            break
        table, full = (key, key) if header else (table, (*table, *key))
        found.append((full, line))
        position = _end_of_line(text, position, depth=0)
    yield from reversed(found)


def _read_key(text: str, position: int) -> tuple[TomlPath, int]:
    parts: list[str] = []
    while match := _KEY_PART.match(text, position):
        position = match.end()
        parts.append(_plain(match["part"]))
        if match["dot"] is None:
            break
    return tuple(parts), position


def _plain(part: str) -> str:
    return next(iter(tomllib.loads(f"{part} = 0"))) if part[0] in "\"'" else part


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _end_of_line(text: str, position: int, *, depth: int) -> int:
    """Return where the line ends on which the value that begins here ends."""
    while match := _TOKEN.match(text, position):
        position = match.end()
        depth += (match["open"] is not None) - (match["close"] is not None)
        if match["end"] and depth <= 0:
            break
    return position
