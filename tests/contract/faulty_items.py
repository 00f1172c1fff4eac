"""Storages that read items of several sessions wrongly: one fault each."""

from collections.abc import Mapping, Sequence

from spaced.log.record import RecordedEvent
from spaced.storage.memory import MemoryStorage


class ReadsItemsSessionBySession(MemoryStorage):
    """Returns the items of one session after those of another."""

    async def read_items(
        self, wanted: Mapping[tuple[str, str], Sequence[str]]
    ) -> Sequence[RecordedEvent]:
        found: list[RecordedEvent] = []
        for place, item_ids in wanted.items():
            found += await super().read_items({place: item_ids})
        return found


class ReadsItemsOfEverySession(MemoryStorage):
    """Takes the same item id of another session of the stream for the one that is asked for."""

    async def read_items(
        self, wanted: Mapping[tuple[str, str], Sequence[str]]
    ) -> Sequence[RecordedEvent]:
        found = [
            event
            for (stream, _), item_ids in wanted.items()
            for event in await self.read_stream(stream)
            if event.item_id in item_ids
        ]
        return sorted(found, key=lambda event: event.position)
