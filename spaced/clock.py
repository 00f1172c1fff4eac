"""Time as a parameter: whoever needs to know what time it is takes a `Clock`.

Times are whole milliseconds since the Unix epoch, UTC; on the wire and in stored bodies they are
RFC 3339 strings with milliseconds. Time describes events, it never orders them.
"""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from time import time_ns
from typing import NewType, Protocol

from spaced.errors import InvalidTimestamp

Timestamp = NewType("Timestamp", int)
"""Milliseconds since 1970-01-01T00:00:00Z; may be negative."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


class Clock(Protocol):
    """Tells the time and waits; tests bring one that they move by hand."""

    def now(self) -> Timestamp:
        """Return the current time."""
        ...

    async def sleep(self, milliseconds: int) -> None:
        """Return when this much time has passed, whatever becomes of `now` meanwhile."""
        ...


class SystemClock:
    """The machine's clock. It may jump in either direction, so nothing is ordered by it."""

    def now(self) -> Timestamp:
        """Return the current time of the machine."""
        return Timestamp(time_ns() // 1_000_000)

    async def sleep(self, milliseconds: int) -> None:
        """Wait on the machine's steady time, which no adjustment of the clock touches."""
        await asyncio.sleep(milliseconds / 1000)  # noqa: TID251 - this is the injected clock


def to_rfc3339(moment: Timestamp) -> str:
    """Write a time as `2026-12-01T09:30:00.000Z`.

    Raises:
        InvalidTimestamp: the time lies outside the years 1 to 9999.
    """
    try:
        text = (_EPOCH + timedelta(milliseconds=moment)).isoformat(timespec="milliseconds")
    except OverflowError as error:
        raise InvalidTimestamp(f"{moment} ms lies outside the years 1 to 9999") from error
    return text.removesuffix("+00:00") + "Z"


def from_rfc3339(text: str) -> Timestamp:
    """Read an RFC 3339 time with any offset; finer fractions than milliseconds are cut off.

    Raises:
        InvalidTimestamp: the text is no such time, has no offset, or lies outside the years 1 to
            9999 in UTC.
    """
    if _RFC3339.fullmatch(text) is None:  # Python reads other forms of ISO 8601 too
        raise InvalidTimestamp(f"{text!r} is not an RFC 3339 time with its UTC offset")
    try:
        moment = datetime.fromisoformat(text.upper()).astimezone(UTC)
    except ValueError as error:
        raise InvalidTimestamp(f"{text!r} is not an RFC 3339 time") from error
    except OverflowError as error:
        raise InvalidTimestamp(f"{text!r} lies outside the years 1 to 9999 in UTC") from error
    return Timestamp((moment - _EPOCH) // _MILLISECOND)
