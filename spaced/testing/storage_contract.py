"""The storage contract: every promise of `spaced.storage.protocol`, as tests to inherit.

A plugin proves its storage with one class in its own test suite:

    from spaced.testing.storage_contract import StorageContract
    from spaced.testing.storage_harness import FolderStorageHarness, StorageHarness

    class TestMyStorage(StorageContract):
        @pytest.fixture
        def harness(self, tmp_path: Path) -> StorageHarness:
            return FolderStorageHarness(MyStorageFactory(), tmp_path)

`FolderStorageHarness` fits every storage that keeps all its bytes in the folder of its place. One
that keeps them elsewhere derives from `StorageHarness` and says how to copy what would survive a
crash. The suite needs pytest and pytest-asyncio, in any mode. For readable failures put
`pytest.register_assert_rewrite("spaced.testing")` at the top of the `conftest.py`.
"""

from spaced.testing.storage_topics.announcing import AnnouncingPromises
from spaced.testing.storage_topics.appending import AppendingPromises
from spaced.testing.storage_topics.backups import BackupPromises
from spaced.testing.storage_topics.blobs import BlobPromises
from spaced.testing.storage_topics.cancelling import CancellingPromises
from spaced.testing.storage_topics.concurrency import ConcurrencyPromises
from spaced.testing.storage_topics.durability import DurabilityPromises
from spaced.testing.storage_topics.lifecycle import LifecyclePromises
from spaced.testing.storage_topics.listing import ListingPromises
from spaced.testing.storage_topics.purging import PurgePromises
from spaced.testing.storage_topics.reading import ReadingPromises
from spaced.testing.storage_topics.rows import RowPromises
from spaced.testing.storage_topics.searching import SearchPromises


class StorageContract(
    AppendingPromises,
    ReadingPromises,
    RowPromises,
    ListingPromises,
    SearchPromises,
    BlobPromises,
    PurgePromises,
    BackupPromises,
    AnnouncingPromises,
    ConcurrencyPromises,
    CancellingPromises,
    DurabilityPromises,
    LifecyclePromises,
):
    """Everything that a storage promises; inherit it and give it a harness."""
