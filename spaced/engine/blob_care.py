"""Finds the blobs that nothing names any more and has them removed, while everything goes on.

A blob is named by its id wherever that stands in the body of an event: in a file part of a prompt,
in an item or a part of one, or inside of a text. Derived rows hold nothing else; the rows that no
event tells are looked at too.

A blob is stored before the event that names it. So the blobs are listed first and the log is read
after that, up to its end: whatever was stored later is not on the list. What was stored before and
is not named yet is spared by the storage, which keeps what was put since its last clean-up. That
rule alone would cost a blob two clean-ups that come between it and its event, such as an attachment
of a prompt that somebody is still writing, or an output that waits for space on a full disk. So
what the storage may have spared is left alone for an hour here.
"""

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from spaced.clock import Clock
from spaced.log.read_models.catalogue import TABLES
from spaced.log.table import Row, Table
from spaced.storage.protocol import Storage

GRACE_MS: Final = 60 * 60 * 1000
"""How long a blob is left alone after a clean-up that may have spared it."""

_NAME: Final = re.compile(rb"blob_[0-9a-f]{64}")
_EVENTS: Final = 200
_ROWS: Final = 200
_BLOBS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What a clean-up did.

    Attributes:
        blobs: how many were removed, of this many `bytes`.
        waiting: how many nothing names that may only have been stored too lately for that.
    """

    blobs: int
    bytes: int
    scanned_blobs: int
    scanned_events: int
    waiting: int


def blobs_named_in(body: bytes) -> set[str]:
    """Return the ids of blobs that a body names, in whatever place."""
    if b"blob_" not in body:
        return set()
    return {name.decode() for name in _NAME.findall(body)}


class BlobCare:
    """Cleans up the blobs of one storage; there must be one of these for each, and it must stay."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._lock = asyncio.Lock()
        self._left_alone: dict[str, int] = {}

    async def collect(self) -> Collected:
        """Remove the blobs that nothing names; one clean-up at a time.

        The storage is told once, of all of them: each time it is told, it takes everything that is
        stored by then for old.
        """
        async with self._lock:
            listed = await self._listed()
            unnamed = set(listed)
            scanned = await self._strike_named(unnamed)
            now = self._clock.now()
            waiting = {
                i for i in unnamed if now - self._left_alone.get(i, now - GRACE_MS) < GRACE_MS
            }
            unused = sorted(unnamed - waiting)
            # Before anything can go wrong on the way.
            self._left_alone.update(dict.fromkeys(unused, now))
            reclaimed = await self._storage.reclaim(unused)
            spared = await self._leave_alone(listed, unused, now)
            return Collected(
                blobs=reclaimed.blobs,
                bytes=reclaimed.bytes,
                scanned_blobs=len(listed),
                scanned_events=scanned,
                waiting=len(waiting) + spared,
            )

    async def _listed(self) -> set[str]:
        found: set[str] = set()
        after = ""
        while page := await self._storage.list_blobs(after=after, limit=_BLOBS):
            found.update(page)
            after = page[-1]
        return found

    async def _strike_named(self, unnamed: set[str]) -> int:
        """Take what anything names out of a set; return how many events were looked at."""
        position = scanned = 0
        while page := await self._storage.read_all(after=position, limit=_EVENTS):
            for event in page:
                unnamed.difference_update(blobs_named_in(event.body))
            position = page[-1].position
            scanned += len(page)
        for table in TABLES.values():
            if table.role == "own":
                await self._strike_named_in_rows(table, unnamed)
        return scanned

    async def _strike_named_in_rows(self, table: Table, unnamed: set[str]) -> None:
        after: Row | None = None
        while page := (await self._storage.list_rows(table.name, after=after, limit=_ROWS)).rows:
            for row in page:
                texts = (value for value in row.values() if isinstance(value, str))
                unnamed.difference_update(blobs_named_in("\n".join(texts).encode()))
            after = page[-1]

    async def _leave_alone(self, listed: set[str], unused: Iterable[str], now: int) -> int:
        """Note what the clean-up may have spared, and forget the rest; return how many it spared.

        Besides what it was told of, these are the blobs that were stored while the log was read:
        the storage takes them for old from now on.
        """
        present = await self._listed()
        spared = present.intersection(unused)
        kept = {i: at for i, at in self._left_alone.items() if i in present and now - at < GRACE_MS}
        self._left_alone = {**kept, **dict.fromkeys(spared | (present - listed), now)}
        return len(spared)
