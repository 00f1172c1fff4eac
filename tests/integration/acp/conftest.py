"""An engine with real agents' processes, of which nothing may be left."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.acp.acp_house import AcpHouse
from tests.integration.engine.house import Houses


@pytest.fixture
async def acp(houses: Houses, tmp_path: Path) -> AsyncIterator[AcpHouse]:
    """One engine; whatever a test did, no process may carry its mark in the end."""
    house = await AcpHouse.open(houses, tmp_path / "memory")
    yield house
    await house.close_agents()
    house.check_nothing_is_left()
