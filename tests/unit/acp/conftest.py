"""A stage for puppets, closed in the end."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.acp.puppet import Stage


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """Open connections to agents that live in this process."""
    stage = Stage(tmp_path)
    yield stage
    await stage.close()
