"""Proves the store of blobs."""

from hashlib import sha256

import pytest

from spaced.errors import UnknownBlob
from spaced.storage.protocol import Storage
from spaced.testing.samples import EVERYTHING
from spaced.testing.storage_harness import StorageHarness
from spaced.testing.storage_topics.fixtures import StorageFixtures

CONTENTS = (b"", b"\x00", b"text", bytes(range(256)) * 10_000)
FOREIGN_IDS = (
    "",
    "blob_",
    "blob_" + "0" * 64,
    "0" * 64,
    "../x",
    "../../etc/passwd",
    "/etc/passwd",
    "blob_../" + "0" * 61,
    "blob_" + "0" * 64 + "/../x",
    "blob_\x00",
    "é" * 40,
    "x" * 10_000,
)


class BlobPromises(StorageFixtures):
    """A blob is there under the digest of its content until it is reclaimed."""

    async def test_a_blob_comes_back_as_it_was(self, storage: Storage) -> None:
        """Any bytes are kept, also none and also many."""
        ids = [await storage.put_blob(content) for content in CONTENTS]
        assert [await storage.get_blob(blob_id) for blob_id in ids] == list(CONTENTS)

    async def test_a_blobs_id_is_the_digest_of_its_content(self, storage: Storage) -> None:
        """Every storage gives the same content the same id."""
        for content in CONTENTS:
            assert await storage.put_blob(content) == f"blob_{sha256(content).hexdigest()}"

    async def test_the_same_content_is_stored_once(self, storage: Storage) -> None:
        """Storing again is free and gives the same id."""
        first = await storage.put_blob(b"content")
        assert await storage.put_blob(b"content") == first
        await storage.reclaim([])
        assert (await storage.reclaim([first])).blobs == 1

    async def test_an_unknown_id_is_refused(self, storage: Storage) -> None:
        """Whatever the id looks like, it never leads out of the store."""
        await storage.put_blob(b"content")
        for blob_id in FOREIGN_IDS:
            with pytest.raises(UnknownBlob):
                await storage.get_blob(blob_id)

    async def test_a_blob_is_durable_once_its_id_is_known(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """An event may name it right away."""
        for content in CONTENTS:
            blob_id = await storage.put_blob(content)
            captured = harness.capture(storage)
            survivor = await harness.open_captured(captured)
            assert await survivor.get_blob(blob_id) == content

    async def test_reclaim_spares_blobs_put_since_the_last_call(self, storage: Storage) -> None:
        """The event that names such a blob may be on its way."""
        blob_id = await storage.put_blob(b"content")
        spared = await storage.reclaim([blob_id])
        assert (spared.blobs, spared.bytes) == (0, 0)
        assert await storage.get_blob(blob_id) == b"content"

    async def test_reclaim_removes_blobs_that_are_no_longer_new(self, storage: Storage) -> None:
        """It says how many and how many bytes, and touches no other blob."""
        unused, used = await storage.put_blob(b"12345"), await storage.put_blob(b"used")
        await storage.reclaim([])
        reclaimed = await storage.reclaim([unused, *FOREIGN_IDS])
        assert (reclaimed.blobs, reclaimed.bytes) == (1, 5)
        with pytest.raises(UnknownBlob):
            await storage.get_blob(unused)
        assert await storage.get_blob(used) == b"used"

    async def test_a_blob_put_again_is_new_again(self, storage: Storage) -> None:
        """Whoever stores what is already there relies on it like the first one did."""
        blob_id = await storage.put_blob(b"content")
        await storage.reclaim([])
        await storage.put_blob(b"content")
        assert (await storage.reclaim([blob_id])).blobs == 0
        assert await storage.get_blob(blob_id) == b"content"

    async def test_a_reclaimed_blob_can_be_put_again(self, storage: Storage) -> None:
        """Its id is its content's, so it comes back under the same name."""
        blob_id = await storage.put_blob(b"content")
        await storage.reclaim([])
        await storage.reclaim([blob_id])
        assert await storage.put_blob(b"content") == blob_id
        assert await storage.get_blob(blob_id) == b"content"

    async def test_blobs_are_listed_by_id(self, storage: Storage) -> None:
        """Every one once, however often it was stored, and whatever names it."""
        assert list(await storage.list_blobs(limit=9)) == []
        ids = [await storage.put_blob(content) for content in (*CONTENTS, *CONTENTS)]
        assert list(await storage.list_blobs(limit=EVERYTHING)) == sorted(set(ids))

    async def test_blobs_are_listed_in_pages(self, storage: Storage) -> None:
        """Pages from the last id on give every blob once; any text may stand for an id."""
        ids = sorted([await storage.put_blob(b"%d" % number) for number in range(20)])
        seen: list[str] = []
        for size in (7, 7, 6, 0):
            page = await storage.list_blobs(after=seen[-1] if seen else "", limit=7)
            assert len(page) == size
            seen.extend(page)
        assert seen == ids
        for after in (*FOREIGN_IDS, ids[3][:8], ids[3] + "0", "\U0010ffff"):
            behind = [blob_id for blob_id in ids if blob_id > after]
            assert list(await storage.list_blobs(after=after, limit=EVERYTHING)) == behind, after

    async def test_a_reclaimed_blob_is_no_longer_listed(self, storage: Storage) -> None:
        """One that was spared is."""
        ids = [await storage.put_blob(content) for content in CONTENTS]
        await storage.reclaim([])
        spared = await storage.put_blob(CONTENTS[0])
        await storage.reclaim(ids)
        assert list(await storage.list_blobs(limit=EVERYTHING)) == [spared]

    async def test_stored_blobs_are_listed_after_a_crash(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """The list is of what is on the disk."""
        ids = [await storage.put_blob(content) for content in CONTENTS]
        survivor = await harness.crash(storage)
        assert list(await survivor.list_blobs(limit=EVERYTHING)) == sorted(ids)
