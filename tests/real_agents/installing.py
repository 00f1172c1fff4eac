"""Installs real agents for the tests that need them: `python -m tests.real_agents.installing NAME…`.

Each goes into a folder of its own below `.agents` in the checkout, or below the folder that the
variable TEST_AGENTS_FOLDER names. What is there already costs nothing.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

FOLDER: Final = Path(
    os.environ.get("TEST_AGENTS_FOLDER", Path(__file__).parents[2] / ".agents")
).absolute()

OPENCODE: Final = "opencode-ai@1.18.33"
VIBE: Final = "mistral-vibe==3.0.2"
_VIBE_PYTHONS: Final = ("python3.14", "python3.13", "python3.12")


def program(name: str) -> Path:
    """Return where an agent's program is, or would be."""
    places = {
        "opencode": FOLDER / "opencode" / "node_modules" / ".bin" / "opencode",
        "vibe": FOLDER / "vibe" / "bin" / "vibe-acp",
    }
    return places[name]


def why_missing(name: str) -> str | None:
    """Say what is missing for the tests of an agent; `None`: it is there."""
    if program(name).exists():
        return None
    needs = " (it needs Python 3.12 or newer)" if name == "vibe" else " (it needs npm)"
    return f"{name} is not installed{needs}: python -m tests.real_agents.installing {name}"


def install(name: str) -> None:
    """Install an agent, or say why that cannot be done here."""
    if program(name).exists():
        print(f"{name} is there")
        return
    _INSTALLERS[name]()


def _install_opencode() -> None:
    npm = shutil.which("npm")
    if npm is None:
        print("opencode needs npm, which is not here")
        return
    folder = FOLDER / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    options = ("--no-audit", "--no-fund", "--loglevel=error")
    _run([npm, "install", "--prefix", str(folder), *options, OPENCODE])
    if not _starts(program("opencode")):
        # It puts its binary in place by a script, which some set-ups of npm do not run.
        package = folder / "node_modules" / "opencode-ai"
        _run(["node", "postinstall.mjs"], package)
    print(f"opencode is in {folder}")


def _install_vibe() -> None:
    python = _python_for_vibe()
    if python is None:
        print(f"vibe needs one of {', '.join(_VIBE_PYTHONS)}, and none is here")
        return
    folder = FOLDER / "vibe"
    _run([python, "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--quiet"]
    _run([*pip, "--disable-pip-version-check", VIBE])
    print(f"vibe is in {folder}")


def _python_for_vibe() -> str | None:
    """Return a Python that is new enough: on the path, or where pyenv keeps them."""
    versions = sorted(Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python"))
    found = [shutil.which(name) for name in _VIBE_PYTHONS]
    for candidate in (*found, *map(str, versions)):
        if candidate is not None and _works(candidate):
            return candidate
    return None


def _works(python: str) -> bool:
    """Tell whether it is one; pyenv puts programs on the path that only say what is missing."""
    check = "import ensurepip, sys; sys.exit(sys.version_info < (3, 12))"
    return subprocess.run([python, "-c", check], check=False, capture_output=True).returncode == 0


def _starts(agent: Path) -> bool:
    """Tell whether a program can be started."""
    return subprocess.run([agent, "--version"], check=False, capture_output=True).returncode == 0


def _run(command: Sequence[str], folder: Path | None = None) -> None:
    subprocess.run(command, check=True, cwd=folder)


_INSTALLERS: Final[dict[str, Callable[[], None]]] = {
    "opencode": _install_opencode,
    "vibe": _install_vibe,
}


if __name__ == "__main__":
    for wanted in sys.argv[1:] or _INSTALLERS:
        install(wanted)
