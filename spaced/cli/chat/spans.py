"""Text for a terminal: pieces with a style, in which nothing can move the cursor or hide a letter.

Whatever comes from the log was written by an agent, a program or another client. It is escaped
here, before it becomes a span, and letter by letter, so that it does not matter how it was cut.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias
from unicodedata import category

Style: TypeAlias = Literal["plain", "dim", "bold", "error", "asking"]

_ROOM: Final = re.compile(r"[ \n\t]+")
_KEPT: Final = frozenset("\n\t")
# Control and format characters, halves of pairs, and the line ends that only Unicode knows.
_UNSEEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Letters and marks that take no room, or all of whose room is empty.
_UNSEEN: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SELECTORS: Final = range(0xE0100, 0xE01F0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A piece of what is shown."""

    text: str
    style: Style = "plain"


def plain(text: str) -> Span:
    """Return text as it is."""
    return Span(text=text)


def dim(text: str) -> Span:
    """Return what is said by the way."""
    return Span(text=text, style="dim")


def bold(text: str) -> Span:
    """Return what the eye should find again."""
    return Span(text=text, style="bold")


def failing(text: str) -> Span:
    """Return what went wrong."""
    return Span(text=text, style="error")


def asking(text: str) -> Span:
    """Return what waits for an answer."""
    return Span(text=text, style="asking")


def escaped(text: str) -> str:
    r"""Return text in which every character can be seen, as `\u202e`; newlines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_seen(character) for character in text)


def one_line(text: str, *, longest: int) -> str:
    """Return text on one line, cut to so many characters before anything is escaped."""
    joined = _ROOM.sub(" ", text[: longest * 4]).strip(" ")
    is_cut = len(joined) > longest or len(text) > longest * 4
    return escaped(joined[:longest]) + ("…" if is_cut else "")


def _seen(character: str) -> str:
    if character in _KEPT or (character.isprintable() and character not in _UNSEEN):
        # Selectors beyond the sixteen that emoji need choose among letters that look alike.
        return character if ord(character) not in _SELECTORS else _code(character)
    if category(character) in _UNSEEN_CATEGORIES or character in _UNSEEN:
        return _code(character)
    return character


def _code(character: str) -> str:
    number = ord(character)
    if number <= 0xFF:  # noqa: PLR2004 - what two hex digits can say
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004 - four
