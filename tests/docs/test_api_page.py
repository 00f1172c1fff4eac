"""The page for users of the API is true: every block is run against a real daemon."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.docs.shell_pages import examples_of, matches, run
from tests.end_to_end.daemons import Daemon

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_every_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    """In the order of the page, as a reader would try them."""
    async with Daemon.running() as daemon:
        environment = {
            **os.environ,
            "SPACED_SOCKET": str(daemon.socket),
            "SPACED_PORT": str(daemon.port),
        }
        examples = list(examples_of(PAGE))
        for example in examples:
            printed = run(example, tmp_path, environment, sys.executable)
            assert example.shown is None or matches(printed, example.shown), (
                f"{example.code}\nprinted\n{printed}"
            )

    assert len(examples) >= 10
