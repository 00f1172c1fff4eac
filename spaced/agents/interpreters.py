"""Interpreters that agents' programs need: seen in their first line, and nothing is run for that.

A daemon's PATH often lacks what a terminal's has, and a script without its interpreter ends with
words that nobody understands.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from spaced.agents.entries import Entry
from spaced.agents.presence import is_file

_LONGEST_LINE: Final = 1024
_MAJOR: Final = re.compile(r"^#define NODE_MAJOR_VERSION (\d+)", re.MULTILINE | re.ASCII)


def interpreter_problem(entry: Entry, program: Path, environment: Mapping[str, str]) -> str | None:
    """Return what is wrong with the interpreter of a program, as a sentence; `None`: nothing seen.

    Args:
        environment: the variables that the program will be started with.
    """
    words = _first_line(program)
    if not words:
        return None
    if Path(words[0]).name != "env":
        gone = f"its interpreter {words[0]} is gone: install it again"
        return None if is_file(Path(words[0])) else gone
    name = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), None)
    if name is None:
        return None
    found = next((path for path in _places(name, program, environment) if is_file(path)), None)
    if found is None:
        return f"it needs {name!r}, which is not on the PATH that the daemon was started with"
    return _node_problem(entry, found) if name == "node" else None


def _first_line(program: Path) -> list[str]:
    """Return the words behind `#!`; nothing if the program is no script, or none that is clear."""
    try:
        with program.open("rb") as opened:
            start = opened.read(_LONGEST_LINE)
    except OSError:
        return []
    line, end, _ = start.partition(b"\n")
    return line[2:].decode(errors="replace").split() if end and line.startswith(b"#!") else []


def _places(name: str, program: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield where the interpreter may be: what lies beside the program comes first."""
    yield program.parent / name
    for place in environment.get("PATH", os.defpath).split(os.pathsep):
        if place.startswith("/"):
            yield Path(place) / name


def _node_problem(entry: Entry, node: Path) -> str | None:
    least = entry.launch.node
    version = _node_version(node)
    if least is None or version is None or version >= least:
        return None
    return f"it needs Node {least} or newer, and {node} is Node {version}: install a newer one"


def _node_version(node: Path) -> int | None:
    """Return Node's version from the header that most of its packages bring along."""
    header = node.resolve().parents[1] / "include" / "node" / "node_version.h"
    try:
        found = _MAJOR.search(header.read_text(errors="replace"))
    except OSError:
        return None
    return None if found is None else int(found[1])
