"""Houses and hubs over them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from spaced.testing.storage_harness import FolderStorageHarness, StorageHarness
from spaced_sqlite.factory import SqliteStorageFactory
from tests.integration.api.api_house import ApiHouse, api_over
from tests.integration.engine.house import House, Houses, houses_over


@pytest.fixture
async def houses(tmp_path: Path) -> AsyncIterator[Houses]:
    """Opens engines and ends them all."""
    harness: StorageHarness = FolderStorageHarness(SqliteStorageFactory(), tmp_path)
    async with houses_over(harness, tmp_path) as houses:
        yield houses
    await harness.close()


@pytest.fixture
async def house(houses: Houses) -> House:
    """One engine over an empty log."""
    return await houses.open()


@pytest.fixture
async def api(house: House) -> AsyncIterator[ApiHouse]:
    """The API over one engine."""
    async with api_over(house) as served:
        yield served
