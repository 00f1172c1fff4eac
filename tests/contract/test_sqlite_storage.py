"""The SQLite storage keeps the storage contract."""

from pathlib import Path

import pytest

from spaced.testing.storage_contract import StorageContract
from spaced.testing.storage_harness import FolderStorageHarness, StorageHarness
from spaced_sqlite.factory import SqliteStorageFactory


class TestSqliteStorage(StorageContract):
    """What people's sessions are kept in."""

    @pytest.fixture
    def harness(self, tmp_path: Path) -> StorageHarness:
        return FolderStorageHarness(SqliteStorageFactory(), tmp_path)
