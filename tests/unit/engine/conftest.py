"""The parts of an engine over a storage in memory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from spaced.engine.parts import EngineParts
from spaced.log.read_models.catalogue import TABLES
from spaced.testing.storage_harness import MemoryStorageHarness
from tests.unit.engine.engine_parts import parts_over


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[EngineParts]:
    """Parts over an empty storage."""
    harness = MemoryStorageHarness(tmp_path)
    parts = parts_over(await harness.open(tuple(TABLES.values())), harness.clock)
    yield parts
    await parts.tasks.close()
    await harness.close()
