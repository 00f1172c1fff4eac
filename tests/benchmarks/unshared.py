"""A storage as it would be without group commit, to see what that gains."""

from collections.abc import Sequence
from typing import Any, cast

from spaced.log.record import StreamWrite
from spaced.log.table import RowWrite
from spaced.storage.protocol import Appended, OnCommitted, Storage


def unshared(storage: Storage) -> Storage:
    """Return a storage in which no append shares its commit with another one."""
    return cast("Storage", _Unshared(storage))


class _Unshared:
    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    @property
    def on_committed(self) -> OnCommitted:
        return self._storage.on_committed

    @on_committed.setter
    def on_committed(self, receive: OnCommitted) -> None:
        self._storage.on_committed = receive

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        del bulk
        return await self._storage.append(writes, rows, bulk=True)
