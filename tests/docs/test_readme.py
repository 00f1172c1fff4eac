"""The README is true: its example runs and prints what it shows."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def _blocks(language: str) -> list[str]:
    text = README.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_the_example_prints_what_the_readme_shows(tmp_path: Path) -> None:
    """It is run as a reader would: in a file of its own, with warnings as errors."""
    (example,) = _blocks("python")
    (shown,) = _blocks("text")
    script = tmp_path / "example.py"
    script.write_text(example, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr, done.stdout) == (0, "", shown)


def test_the_commands_of_the_readme_are_targets_of_the_makefile() -> None:
    """A reader who types them gets what is promised."""
    commands = [line for block in _blocks("console") for line in block.splitlines()]
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")

    assert commands
    for command in commands:
        program, target = command.split()
        assert program == "make"
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_links_of_the_readme_lead_to_files() -> None:
    """No page is promised that is not there."""
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8"))

    assert links
    assert [link for link in links if not (README.parent / link).is_file()] == []
