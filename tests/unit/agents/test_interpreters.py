"""Interpreters of agents' programs: what is missing or too old is told before it is tried."""

from pathlib import Path

import pytest

from spaced.agents.catalogue import read_catalogue
from spaced.agents.entries import Entry
from spaced.agents.interpreters import interpreter_problem


@pytest.fixture
def claude() -> Entry:
    """An agent that needs Node 22."""
    entry = read_catalogue().entry("claude")
    assert entry is not None
    return entry


def script(folder: Path, first_line: str) -> Path:
    """Write a program that begins with a line."""
    path = folder / "agent" / "bin" / "program"
    path.parent.mkdir(parents=True)
    path.write_text(f"{first_line}\nmore\n")
    return path


def put_node(folder: Path, major: str | None) -> str:
    """Put a Node of a version somewhere, and return the folder that PATH has to name."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "node").write_text("")
    if major is not None:
        header = folder / "include" / "node" / "node_version.h"
        header.parent.mkdir(parents=True)
        header.write_text(f"#ifndef X\n#define NODE_MAJOR_VERSION {major}\n#define NODE_MINOR 1\n")
    return str(folder / "bin")


@pytest.mark.parametrize(
    "first_line",
    ["#!/bin/sh", "#! /bin/sh -e", "\x7fELF", "", "#!", "#!/usr/bin/env", "#!" + "x" * 2000],
)
def test_what_is_not_clear_is_no_problem(claude: Entry, tmp_path: Path, first_line: str) -> None:
    """Most programs are fine, and a guess would only disturb."""
    assert interpreter_problem(claude, script(tmp_path, first_line), {"PATH": ""}) is None


def test_a_program_that_cannot_be_read_is_no_problem(claude: Entry, tmp_path: Path) -> None:
    """It may still be run."""
    assert interpreter_problem(claude, tmp_path / "none", {}) is None


@pytest.mark.parametrize(
    "first_line", ["#!/usr/bin/env node", "#!/usr/bin/env -S A=1 node --no-warnings"]
)
def test_an_interpreter_that_is_on_no_path_is_told(
    claude: Entry, tmp_path: Path, first_line: str
) -> None:
    """Daemons are started with a short PATH; the folder beside the program counts too."""
    program = script(tmp_path, first_line)
    problem = interpreter_problem(claude, program, {"PATH": "relative"})
    assert problem is not None
    assert "'node'" in problem
    (program.parent / "node").write_text("")
    assert interpreter_problem(claude, program, {"PATH": "relative"}) is None


def test_an_interpreter_that_is_gone_is_told(claude: Entry, tmp_path: Path) -> None:
    """An environment of Python loses it when Python is updated."""
    program = script(tmp_path, f"#!{tmp_path}/venv/bin/python")
    problem = interpreter_problem(claude, program, {})
    assert problem is not None
    assert "install it again" in problem


@pytest.mark.parametrize(
    ("major", "is_fine"), [("20", False), ("22", True), ("25", True), (None, True), ("x", True)]
)
def test_a_node_that_is_too_old_is_told(
    claude: Entry, tmp_path: Path, major: str | None, is_fine: bool
) -> None:
    """As far as its own header tells; nothing is run."""
    program = script(tmp_path, "#!/usr/bin/env node")
    path = put_node(tmp_path / "node", major)
    problem = interpreter_problem(claude, program, {"PATH": path})
    assert (problem is None) is is_fine
    assert problem is None or "Node 22 or newer" in problem


def test_the_node_beside_the_program_counts_first(claude: Entry, tmp_path: Path) -> None:
    """Its folder is put before PATH when the program is started."""
    program = script(tmp_path, "#!/usr/bin/env node")
    old = put_node(tmp_path / "old", "18")
    new = put_node(tmp_path / "new", "24")
    (program.parent / "node").symlink_to(Path(new) / "node")
    assert interpreter_problem(claude, program, {"PATH": old}) is None
