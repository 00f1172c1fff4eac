"""Cursors: places in a log, good on every stream of that log. Clients treat them as opaque."""

from dataclasses import dataclass
from typing import Final

from spaced.refusals import BadCursor

_LONGEST: Final = 200
_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """A place right behind an event.

    Attributes:
        log_id: of the log; a restored copy is another one.
        position: of the event; 0 stands before the first.
    """

    log_id: str
    position: int

    def __str__(self) -> str:
        return f"{self.log_id}.{self.position}"


def read_cursor(text: str) -> Cursor:
    """Read a cursor.

    Raises:
        BadCursor: it does not have the form of one.
    """
    log_id, dot, number = text.rpartition(".")
    is_number = number.isascii() and number.isdigit() and len(number) <= len(str(_LARGEST))
    if len(text) > _LONGEST or not (dot and log_id and is_number) or int(number) > _LARGEST:
        raise BadCursor(f"{text[:60]!r} is not a cursor of an event stream")
    return Cursor(log_id=log_id, position=int(number))
