"""The fixtures that every topic of the storage contract uses."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from spaced.storage.protocol import Storage
from spaced.testing.storage_harness import StorageHarness


class StorageFixtures:
    """Opens one storage for each test; who inherits says which, by overriding `harness`."""

    # In strict mode pytest-asyncio runs only what is marked; a plugin's project may use either.
    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def harness(self, tmp_path: Path) -> StorageHarness:
        """Return the harness of the storage to prove; override this."""
        raise NotImplementedError("override the fixture `harness` in the class of your tests")

    @pytest_asyncio.fixture
    async def storage(self, harness: StorageHarness) -> AsyncIterator[Storage]:
        """Open an empty storage with the sample tables, and close all in the end."""
        yield await harness.open()
        await harness.close()
