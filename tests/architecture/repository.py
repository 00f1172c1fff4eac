"""What the architecture tests look at: the files of this repository and its settings."""

import ast
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@cache
def files() -> Sequence[Path]:
    """Return every file that is, or is about to be, part of the repository, relative to it."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout, so it is unknown which files belong to it")
    command = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others"]
    listed = subprocess.run(
        [*command, "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
    )
    names = listed.stdout.decode().split("\0")
    return [Path(name) for name in sorted(set(names)) if name and (ROOT / name).is_file()]


def python_files(*folders: str) -> Sequence[Path]:
    """Return the Python files in some top-level folders."""
    return [path for path in files() if path.suffix == ".py" and path.parts[0] in folders]


@cache
def tree(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse((ROOT / path).read_text(), filename=str(path))


def texts() -> Iterator[tuple[Path, str]]:
    """Yield every file that is text, with its text."""
    for path in files():
        try:
            yield path, (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue


@cache
def project() -> dict[str, Any]:
    """Return what `pyproject.toml` says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def contract(name: str) -> dict[str, Any]:
    """Return an import contract by its name."""
    contracts: list[dict[str, Any]] = project()["tool"]["importlinter"]["contracts"]
    return next(entry for entry in contracts if entry["name"] == name)


def modules_of_spaced() -> set[str]:
    """Return the top-level modules and packages of spaced."""
    inside = [path for path in python_files("spaced") if path.name != "__init__.py"]
    packages = {path.parts[1] for path in python_files("spaced") if len(path.parts) > 2}
    return packages | {path.stem for path in inside if len(path.parts) == 2}


def plugin_folders() -> set[str]:
    """Return the names of the first-party plugins."""
    return {path.parts[1] for path in python_files("plugins") if len(path.parts) > 2}
