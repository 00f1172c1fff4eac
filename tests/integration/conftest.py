"""A journal over each storage, in a place of its own for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from spaced.engine.journal import Journal
from spaced.log.read_models.catalogue import TABLES
from spaced.storage.protocol import Storage
from spaced.testing.storage_harness import (
    FolderStorageHarness,
    MemoryStorageHarness,
    StorageHarness,
)
from spaced_sqlite.factory import SqliteStorageFactory


@pytest.fixture(params=["memory", "sqlite"])
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StorageHarness]:
    """Opens storages of one kind; a test that names it opens as many as it needs."""
    opens: StorageHarness = (
        MemoryStorageHarness(tmp_path)
        if request.param == "memory"
        else FolderStorageHarness(SqliteStorageFactory(), tmp_path)
    )
    yield opens
    await opens.close()


@pytest.fixture
async def storage(harness: StorageHarness) -> Storage:
    """An empty storage with the core's tables."""
    return await harness.open(tuple(TABLES.values()))


@pytest.fixture
def journal(storage: Storage, harness: StorageHarness) -> Journal:
    """The journal over that storage."""
    return Journal(storage, harness.clock)
