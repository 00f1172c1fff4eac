"""The README is true: its example runs and prints what it shows."""

import re
import subprocess
import sys
from pathlib import Path

from tests.docs.command_lines import check_command
from tests.docs.shell_pages import matches

README = Path(__file__).parents[2] / "README.md"


def _blocks(language: str) -> list[str]:
    text = README.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_the_demo_prints_what_the_readme_shows() -> None:
    """The picture is of the real thing; only numbers of processes and events differ."""
    (shown,) = _blocks("text")

    done = subprocess.run(
        [sys.executable, "-P", "-m", "spaced", "demo"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert matches(done.stdout, shown), done.stdout


def test_the_commands_of_the_readme_exist() -> None:
    """A reader who types them gets what is promised."""
    commands = [line for block in _blocks("console") for line in block.splitlines()]
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")

    assert commands
    for command in commands:
        program, *words = command.split()
        if program == "make":
            assert re.search(rf"^{words[0]}:", makefile, flags=re.MULTILINE)
        else:
            assert program == ".venv/bin/spaced"
            check_command(words)


def test_links_of_the_readme_lead_to_files() -> None:
    """No page is promised that is not there."""
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8"))

    assert links
    assert [link for link in links if not (README.parent / link).is_file()] == []
