"""Ids: a prefix, 12 hex digits of time and counter, 14 base62 characters of chance.

The hex part holds the low 48 bits of milliseconds x 4096 + counter, so ids made by one generator
ascend. OpenCode clients make and sort ids of the same form, so theirs and ours mix. Ids name; they
never order: only stream versions and log positions order anything.
"""

import re
import secrets
import string
from collections.abc import Callable
from typing import Final, Literal, get_args

from spaced.errors import InvalidIdentifier

IdPrefix = Literal[
    "ses",
    "wf",
    "step",
    "ent",
    "prof",
    "msg",
    "turn",
    "exe",
    "itm",
    "per",
    "que",
    "src",
    "mov",
    "gra",
]
PREFIXES: Final[frozenset[str]] = frozenset(get_args(IdPrefix))

_BASE62: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM_LENGTH: Final = 14
_BYTES_AT_ONCE: Final = 1024
_COUNTERS_PER_MILLISECOND: Final = 4096
_LOW_48_BITS: Final = (1 << 48) - 1
_GENERATED = re.compile(r"[a-z]+_[0-9a-f]{12}[0-9A-Za-z]{14}")
# What a client may bring: an id of any system we talk to, but nothing that could be a path, an
# option or a control character.
ACCEPTABLE: Final = r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}"
_ACCEPTABLE = re.compile(ACCEPTABLE)


class _Chance:
    """Chooses as `secrets.choice` does, but asks the system once for many letters."""

    def __init__(self) -> None:
        self._bytes = iter(b"")

    def choose(self, letters: str) -> str:
        # Larger bytes would make the first letters likelier than the others.
        limit = 256 - 256 % len(letters)
        while True:
            for byte in self._bytes:
                if byte < limit:
                    return letters[byte % len(letters)]
            self._bytes = iter(secrets.token_bytes(_BYTES_AT_ONCE))


class IdGenerator:
    """Makes ascending ids from a source of milliseconds.

    A millisecond source that stands still or jumps back never makes the generator repeat itself or
    descend: it goes on counting from the largest value it has used. The 48 bits begin anew every
    2.2 years, which is one more reason why ids never order anything.
    """

    def __init__(
        self,
        now_milliseconds: Callable[[], int],
        choose: Callable[[str], str] | None = None,
    ) -> None:
        self._now = now_milliseconds
        self._choose = choose or _Chance().choose
        self._last = 0

    def new(self, prefix: IdPrefix) -> str:
        """Return a fresh id such as `ses_0193…`."""
        self._last = max(self._last + 1, self._now() * _COUNTERS_PER_MILLISECOND)
        chance = "".join(self._choose(_BASE62) for _ in range(_RANDOM_LENGTH))
        return f"{prefix}_{self._last & _LOW_48_BITS:012x}{chance}"


def is_generated(text: str) -> bool:
    """Tell whether a string has the exact form of an id made by `IdGenerator`."""
    return _GENERATED.fullmatch(text) is not None and text.partition("_")[0] in PREFIXES


def accept(text: str, *, what: str) -> str:
    """Return an id that came from outside, or refuse it.

    Args:
        text: the id as a client sent it.
        what: what it names, for the message (`"session"`).

    Raises:
        InvalidIdentifier: it is empty, too long, or has characters that are not safe in an id.
    """
    if _ACCEPTABLE.fullmatch(text) is None:
        raise InvalidIdentifier(
            f"{text[:80]!r} is not a {what} id",
            remedy="An id has up to 200 letters, digits, dots, colons, dashes and underscores.",
        )
    return text
