"""The small OpenCode server and engines that use it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from spaced.testing.storage_harness import FolderStorageHarness
from spaced_sqlite.factory import SqliteStorageFactory
from tests.contract.opencode_server import FakeOpenCode
from tests.integration.opencode.opencode_house import OpenCodeHouse, OpenCodeHouses


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenCode]:
    """A server that outlives every engine."""
    async with FakeOpenCode() as server:
        yield server


@pytest.fixture
async def houses(tmp_path: Path) -> AsyncIterator[OpenCodeHouses]:
    """Opens engines and ends them all."""
    harness = FolderStorageHarness(SqliteStorageFactory(), tmp_path)
    houses = OpenCodeHouses(harness, tmp_path)
    yield houses
    await houses.close()
    await harness.close()


@pytest.fixture
async def house(houses: OpenCodeHouses) -> OpenCodeHouse:
    """One engine over an empty storage."""
    return await houses.open()
