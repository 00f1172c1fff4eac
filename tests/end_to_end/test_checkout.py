"""What a checkout must offer without being built; the wheel's half is `make wheel`."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from spaced.resources import folder
from tests.end_to_end.wheel_proof import count
from tests.end_to_end.wheel_smoke import is_ours

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["schemas", "workflows"])
def test_a_checkout_reads_the_folders_beside_the_package(name: str) -> None:
    """A changed schema or workflow counts at once, without installing anything again."""
    assert folder(name) == REPOSITORY / name
    assert count(folder(name)) > 0


def test_a_checkout_is_typed() -> None:
    """Type checkers of plugin authors find the marker."""
    assert files("spaced").joinpath("py.typed").is_file()


def test_the_folders_are_found_from_any_working_directory(tmp_path: Path) -> None:
    """A daemon runs wherever it was started."""
    program = "from spaced.resources import folder; print(folder('schemas').is_dir())"
    command = [sys.executable, "-P", "-c", program]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "True"


@pytest.mark.parametrize(
    ("top", "ours"),
    [
        ("spaced", True),
        ("spaced_sqlite", True),
        ("spaced-1.0.dist-info", True),
        ("tests", False),
        ("packaging", False),
        ("spaced-1.0.data", False),
        ("spaced_notes.txt", False),
    ],
)
def test_the_wheel_holds_only_our_own_names(top: str, ours: bool) -> None:
    """The rule that `make wheel` applies refuses what would litter somebody's environment."""
    assert is_ours(top) == ours
