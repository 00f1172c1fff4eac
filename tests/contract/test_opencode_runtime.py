"""The OpenCode runtime keeps the runtime contract: with a server that stays, and with its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from spaced.testing.runtime_contract import RuntimeContract
from spaced.testing.runtime_harness import STREAMED, RuntimeHarness
from spaced.testing.runtime_topics.closing import ClosingPromises
from spaced.testing.runtime_topics.reaching import ReachingPromises
from spaced.testing.runtime_topics.turns import TurnPromises
from tests.contract.opencode_harness import LocalOpenCodeHarness, OpenCodeHarness
from tests.contract.opencode_server import FakeOpenCode


class TestOpenCodeRuntime(RuntimeContract):
    """Sessions of a server that runs anyway, several on one."""

    @pytest_asyncio.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[RuntimeHarness]:  # type: ignore[override]
        async with FakeOpenCode(streamed=STREAMED) as server:
            yield OpenCodeHarness(server, tmp_path)


class TestOpenCodeRuntimeWithItsOwnServers(TurnPromises, ClosingPromises, ReachingPromises):
    """What depends on a server being a process of ours; all else is the same code."""

    @pytest.fixture
    def harness(self, tmp_path: Path) -> RuntimeHarness:
        return LocalOpenCodeHarness(tmp_path)
