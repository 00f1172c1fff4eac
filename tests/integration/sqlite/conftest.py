"""A storage in a folder of its own for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from spaced_sqlite.storage import SqliteStorage
from tests.integration.sqlite.places import opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the storage of the test lives; it does not exist yet."""
    return tmp_path / "storage"


@pytest.fixture
async def storage(folder: Path) -> AsyncIterator[SqliteStorage]:
    """An open storage with the sample tables."""
    async with opened(folder) as storage:
        yield storage
