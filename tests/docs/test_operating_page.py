"""The page for operators is true: its commands are run, and its settings are ones that there are."""

import os
import re
import sys
import tempfile
import tomllib
from pathlib import Path

from spaced.daemon.settings import load_settings
from tests.docs.shell_pages import examples_of, run
from tests.end_to_end.daemons import Daemon

PAGE = Path(__file__).parents[2] / "docs" / "operating.md"


async def test_the_commands_of_the_page_do_what_it_says(tmp_path: Path) -> None:
    """A backup beside a running daemon, and the same elsewhere, without a difference."""
    commands = tmp_path / "bin"
    commands.mkdir()
    spaced = commands / "spaced"
    spaced.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m spaced "$@"\n')
    spaced.chmod(0o700)
    with tempfile.TemporaryDirectory(prefix="spaced-", dir="/tmp") as place:
        async with Daemon.running("--no-tcp") as daemon:
            environment = {
                **os.environ,
                "PATH": f"{commands}:{os.environ['PATH']}",
                "PLACE": place,
                "SPACED_DATA_DIR": str(daemon.folder),
            }
            shell = [one for one in examples_of(PAGE) if one.language == "sh"]
            printed = [run(one, tmp_path, environment, sys.executable) for one in shell]

    assert len(printed) == 2
    assert "0 differences" in printed[-1]


def test_the_settings_of_the_page_are_ones_that_there_are(tmp_path: Path) -> None:
    """What is shown can be pasted into a file."""
    (shown,) = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    file = tmp_path / "config.toml"
    file.write_text(shown)
    file.chmod(0o600)

    loaded = load_settings(environment={}, flags={"data_dir": str(tmp_path)}, config_file=file)

    assert tomllib.loads(shown)["turns"]["concurrent"] == loaded.settings.turns_concurrent
