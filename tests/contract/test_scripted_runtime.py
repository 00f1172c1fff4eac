"""The scripted runtime keeps the runtime contract."""

from pathlib import Path

import pytest

from spaced.testing.runtime_contract import RuntimeContract
from spaced.testing.runtime_harness import RuntimeHarness
from tests.contract.scripted_harness import ScriptedHarness


class TestScriptedRuntime(RuntimeContract):
    """The agent that needs no model, and stands for all others in tests."""

    @pytest.fixture
    def harness(self, tmp_path: Path) -> RuntimeHarness:
        return ScriptedHarness(tmp_path)
