r"""The one door that text from outside passes: behind it everything can be stored as UTF-8.

Agents and clients may send halves of characters, since JSON lets them write `\ud83d`. Two halves
that follow each other become one character, also if they come in two pieces; a half that stays
alone becomes U+FFFD. Everything else passes as it is: control characters, NUL and marks of
direction too, since what is displayed is escaped where it is displayed.
"""

from collections.abc import Mapping
from math import isfinite
from typing import Final

REPLACEMENT: Final = "\ufffd"
_HIGH_SURROGATES: Final = ("\ud800", "\udbff")


class TextDoor:
    """Lets one growing text pass, piece by piece.

    Attributes:
        replaced: how many halves became U+FFFD because no other half came.
    """

    def __init__(self) -> None:
        self.replaced = 0
        self._carried = ""

    def accept(self, text: str) -> str:
        """Return what can be stored now; a half at the end waits for the other one."""
        text = self._carried + text
        self._carried = text[-1:] if _is_high_surrogate(text[-1:]) else ""
        return self._storable(text[: len(text) - len(self._carried)])

    def end(self) -> str:
        """Return what still waited, now that nothing more comes."""
        waiting, self._carried = self._carried, ""
        return self._storable(waiting)

    def _storable(self, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            # Halves that belong together become one character; the others cannot be stored.
            joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            self.replaced += joined.count(REPLACEMENT) - text.count(REPLACEMENT)
            return joined
        return text


def storable_text(text: str) -> str:
    """Return a whole text as it can be stored."""
    door = TextDoor()
    return door.accept(text) + door.end()


def storable(value: object) -> object:
    """Return a copy of a JSON value whose texts, also those of keys, and numbers can be stored."""
    match value:
        case str():
            return storable_text(value)
        case Mapping():
            return {storable_text(str(key)): storable(part) for key, part in value.items()}
        case list() | tuple():
            return [storable(part) for part in value]
        case float() if not isfinite(value):
            return None  # JSON has no word for it
        case _:
            return value


def storable_object(value: Mapping[str, object]) -> dict[str, object]:
    """Return a copy of a JSON object whose texts can be stored."""
    return {storable_text(key): storable(part) for key, part in value.items()}


def _is_high_surrogate(character: str) -> bool:
    first, last = _HIGH_SURROGATES
    return first <= character <= last
