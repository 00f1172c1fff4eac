"""Journals over each storage, and engines over SQLite with the scripted agent and a fake clock."""

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
from tests.integration.engine.house import House, Houses, houses_over


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


@pytest.fixture
async def houses(tmp_path: Path) -> AsyncIterator[Houses]:
    """Opens engines and ends them all."""
    harness: StorageHarness = FolderStorageHarness(SqliteStorageFactory(), tmp_path)
    async with houses_over(harness, tmp_path) as houses:
        yield houses
    await harness.close()


@pytest.fixture
async def house(houses: Houses) -> House:
    """One engine over an empty storage."""
    return await houses.open()
