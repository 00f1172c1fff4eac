"""A small server and what opens sessions on it, whose runs the tests play by hand."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract.opencode_server import FakeOpenCode
from tests.unit.opencode_runtime.by_hand import Sessions


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenCode]:
    """A server that runs anyway."""
    async with FakeOpenCode() as server:
        yield server


@pytest.fixture
async def sessions(server: FakeOpenCode, tmp_path: Path) -> AsyncIterator[Sessions]:
    """Opens sessions on it, and closes them in the end."""
    sessions = Sessions(server, tmp_path)
    yield sessions
    await sessions.close()
