"""The ACP runtime keeps the runtime contract, with a process that speaks the protocol."""

from pathlib import Path

import pytest

from spaced.testing.acp_harness import AcpHarness
from spaced.testing.runtime_contract import RuntimeContract
from spaced.testing.runtime_harness import RuntimeHarness
from spaced_acp.runtime import AcpRuntime


class TestAcpRuntime(RuntimeContract):
    """Agents of other people, each in a process of its own."""

    @pytest.fixture
    def harness(self, tmp_path: Path) -> RuntimeHarness:
        return AcpHarness(AcpRuntime, tmp_path)
