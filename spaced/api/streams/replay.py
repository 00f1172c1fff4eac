"""Reads what a client has missed, page by page, from the log or from one stream of it."""

from collections.abc import Sequence
from typing import Final

from spaced.api.streams.filters import EventFilter
from spaced.log.record import RecordedEvent
from spaced.storage.protocol import Storage

_PAGE: Final = 256


class Replay:
    """The events behind a position that a filter lets pass.

    Attributes:
        position: up to where the log was looked through.
    """

    def __init__(self, storage: Storage, wanted: EventFilter, position: int) -> None:
        self.position = position
        self._storage = storage
        self._wanted = wanted
        self._version: int | None = None

    async def next_page(self, head: int, *, limit: int = _PAGE) -> Sequence[RecordedEvent]:
        """Return the next events up to a position; a page may be empty though more follow.

        Args:
            head: what was announced last; what is newer will be announced.
        """
        read = await self._read(limit)
        shown = [event for event in read if event.position <= head]
        is_whole = len(read) < limit or len(shown) < len(read)
        self.position = head if is_whole else shown[-1].position
        if shown:
            self._version = shown[-1].version
        return [event for event in shown if self._wanted.passes(event)]

    async def _read(self, limit: int) -> Sequence[RecordedEvent]:
        wanted = self._wanted
        if wanted.stream is None:
            wanted_kinds = wanted.recorded_kinds
            kinds = None if wanted_kinds is None else sorted(wanted_kinds)
            return await self._storage.read_all(after=self.position, limit=limit, kinds=kinds)
        if self._version is None:
            self._version = await version_at(self._storage, wanted.stream, self.position)
        return await self._storage.read_stream(wanted.stream, after=self._version, limit=limit)


async def version_at(storage: Storage, stream: str, position: int) -> int:
    """Return the version of a stream's last event that does not stand behind a position.

    Positions ascend with versions, so it is found in as many reads as its number has bits.
    """
    low, high = 0, await storage.version(stream)
    while low < high:
        middle = (low + high + 1) // 2
        found = await storage.read_stream(stream, after=middle - 1, limit=1)
        if found and found[0].position <= position:
            low = middle
        else:
            high = middle - 1
    return low
