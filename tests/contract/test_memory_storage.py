"""The storage in memory keeps the storage contract."""

from pathlib import Path

import pytest

from spaced.testing.storage_contract import StorageContract
from spaced.testing.storage_harness import MemoryStorageHarness, StorageHarness


class TestMemoryStorage(StorageContract):
    """The readable specification passes what it specifies."""

    @pytest.fixture
    def harness(self, tmp_path: Path) -> StorageHarness:
        return MemoryStorageHarness(tmp_path)
