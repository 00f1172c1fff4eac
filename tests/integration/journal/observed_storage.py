"""A storage that counts what it gives out, and one in which something happens during a read."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from spaced.log.record import RecordedEvent
from spaced.log.table import Key, Row, Scalar
from spaced.storage.protocol import Rows, Storage


class ObservedStorage:
    """Passes every read on and keeps account of it; other calls go to the storage directly."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.events_read = 0
        self.rows_read = 0
        self.before_read: Callable[[], Awaitable[object]] | None = None

    def __getattr__(self, name: str) -> object:
        return getattr(self._storage, name)

    async def read_stream(
        self,
        stream: str,
        *,
        after: int = 0,
        limit: int | None = None,
        session_id: str | None = None,
        item_ids: Sequence[str] | None = None,
    ) -> Sequence[RecordedEvent]:
        """Count the events that are given out."""
        await self._happen()
        events = await self._storage.read_stream(
            stream, after=after, limit=limit, session_id=session_id, item_ids=item_ids
        )
        self.events_read += len(events)
        return events

    async def get_rows(self, table: str, keys: Sequence[Key]) -> Rows:
        """Count the rows that are given out."""
        found = await self._storage.get_rows(table, keys)
        self.rows_read += len(found.rows)
        return found

    async def get_rows_of(self, wanted: Mapping[str, Sequence[Key]]) -> Mapping[str, Rows]:
        """Count the rows that are given out."""
        found = await self._storage.get_rows_of(wanted)
        self.rows_read += sum(len(rows.rows) for rows in found.values())
        return found

    async def list_rows(
        self,
        table: str,
        *,
        where: Mapping[str, Scalar] | None = None,
        order: str | None = None,
        after: Row | None = None,
        limit: int | None = None,
    ) -> Rows:
        """Count the rows that are given out."""
        await self._happen()
        found = await self._storage.list_rows(
            table, where=where, order=order, after=after, limit=limit
        )
        self.rows_read += len(found.rows)
        return found

    async def _happen(self) -> None:
        if self.before_read is not None:
            await self.before_read()
