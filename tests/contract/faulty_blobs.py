"""Storages that list or reclaim blobs wrongly: one fault each."""

from collections.abc import Sequence

from spaced.storage.memory import MemoryStorage
from spaced.storage.protocol import Reclaimed


class ReclaimsNewBlobs(MemoryStorage):
    """Removes whatever is called unused."""

    async def reclaim(self, unused_blobs: Sequence[str]) -> Reclaimed:
        self._fresh_blobs.clear()
        return await super().reclaim(unused_blobs)


class ListsBlobsAsTheyCame(MemoryStorage):
    """Lists blobs in the order in which they were stored."""

    async def list_blobs(self, *, after: str = "", limit: int) -> Sequence[str]:
        ids = list(self._disk.blobs)
        start = ids.index(after) + 1 if after in ids else 0
        return ids[start : start + limit]


class BeginsAPageWithTheLastBlob(MemoryStorage):
    """Lists the blob to go on from once more."""

    async def list_blobs(self, *, after: str = "", limit: int) -> Sequence[str]:
        return sorted(blob_id for blob_id in self._disk.blobs if blob_id >= after)[:limit]


class ListsOnlyNewBlobs(MemoryStorage):
    """Knows the blobs of this life alone."""

    async def list_blobs(self, *, after: str = "", limit: int) -> Sequence[str]:
        listed = await super().list_blobs(after=after, limit=len(self._disk.blobs))
        return [blob_id for blob_id in listed if blob_id in self._fresh_blobs][:limit]
