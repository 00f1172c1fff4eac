"""Scripted agents, opened and closed around each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.contract.scripted_harness import ScriptedHarness


@pytest_asyncio.fixture
async def agents(tmp_path: Path) -> AsyncIterator[ScriptedHarness]:
    """Lend a harness, and close all that it opened in the end."""
    harness = ScriptedHarness(tmp_path)
    yield harness
    await harness.close()
