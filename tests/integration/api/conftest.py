"""Houses and hubs over them."""

from collections.abc import AsyncIterator

import pytest

from tests.integration.api.api_house import ApiHouse, api_over
from tests.integration.engine.house import House


@pytest.fixture
async def api(house: House) -> AsyncIterator[ApiHouse]:
    """The API over one engine."""
    async with api_over(house) as served:
        yield served
