"""The fixtures that every topic of the runtime contract uses."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from spaced.testing.runtime_harness import RuntimeHarness


class RuntimeFixtures:
    """Closes what each test has opened; who inherits overrides `harness`."""

    # In strict mode pytest-asyncio runs only what is marked; a plugin's project may use either.
    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def harness(self, tmp_path: Path) -> RuntimeHarness:
        """Return the harness of the runtime to prove; override this."""
        raise NotImplementedError("override the fixture `harness` in the class of your tests")

    @pytest_asyncio.fixture
    async def agents(self, harness: RuntimeHarness) -> AsyncIterator[RuntimeHarness]:
        """Lend the harness, and close all that it opened in the end."""
        yield harness
        await harness.close()
