"""The command runtime keeps the runtime contract, as far as a command can."""

from pathlib import Path

import pytest

from spaced.testing.runtime_contract import RuntimeContract
from spaced.testing.runtime_harness import RuntimeHarness
from tests.contract.command_harness import CommandHarness


class TestCommandRuntime(RuntimeContract):
    """One process for each turn."""

    @pytest.fixture
    def harness(self, tmp_path: Path) -> RuntimeHarness:
        return CommandHarness(tmp_path)
