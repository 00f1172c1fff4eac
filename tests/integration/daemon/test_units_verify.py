"""What systemd itself says of the files that it is given."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.daemon.services import Machine

Verify = Callable[[Path], str]


@pytest.fixture
def verify(tmp_path: Path) -> Verify:
    """Returns the complaints of systemd about the unit files in a folder."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("`systemd-analyze` is missing; the Debian package systemd has it")
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    environment = {"XDG_RUNTIME_DIR": str(runtime), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}

    def run(folder: Path) -> str:
        units = [str(path) for path in sorted(folder.iterdir())]
        done = subprocess.run(
            [program, "verify", "--user", "--man=no", *units],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        # Its exit status is 0 for a key that it does not know, so only its silence counts.
        return done.stderr + (f"exit status {done.returncode}" if done.returncode else "")

    return run


def executable(path: Path) -> str:
    """Make a file that can be run, and return its path."""
    path.parent.mkdir(parents=True)
    path.symlink_to(sys.executable)
    return str(path)


def test_systemd_has_nothing_to_complain_of(tmp_path: Path, verify: Verify) -> None:
    """An unknown or misspelt key would be ignored in silence on somebody's machine."""
    machine = Machine(home=tmp_path / "home")
    machine.command = (executable(tmp_path / "bin" / "spaced"),)
    machine.service.install()

    assert verify(machine.folder) == ""


@pytest.mark.parametrize("name", ["a b", "100%u", "$HOME", "ü;#&"])
def test_systemd_finds_spaced_in_a_folder_of_any_name(
    tmp_path: Path, verify: Verify, name: str
) -> None:
    """It looks for the program, and would complain of another path."""
    machine = Machine(home=tmp_path / "home")
    machine.command = (executable(tmp_path / name / "spaced"), "-X", f"{name}=%n $$ \\n \"'")
    machine.search_path = f"/opt/{name}/bin:/opt/\"'\\n:/usr/bin"
    machine.service.install()

    assert verify(machine.folder) == ""


def test_the_check_finds_a_mistake(tmp_path: Path, verify: Verify) -> None:
    """A check that finds nothing would prove nothing."""
    machine = Machine(home=tmp_path / "home")
    machine.command = (executable(tmp_path / "bin" / "spaced"),)
    machine.service.install()
    path = machine.folder / "spaced.service"
    path.write_text(path.read_text().replace("KillMode=", "KilMode="))

    assert "KilMode" in verify(machine.folder)
