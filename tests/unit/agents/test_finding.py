"""Agents on a machine: found by files alone, wherever an installer put them."""

import json
import os
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from spaced.agents.catalogue import read_catalogue
from spaced.agents.entries import Entry, Launch
from spaced.agents.finding import FoundAgent, Machine, find


def known(agent_id: str) -> Entry:
    """Return an agent that ships with spaced."""
    entry = read_catalogue().entry(agent_id)
    assert entry is not None
    return entry


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with nothing on it."""
    places = f"{tmp_path / 'path'}{os.pathsep}relative{os.pathsep}"
    return Machine(
        environment={"PATH": places},
        home=tmp_path / "home",
        installed=tmp_path / "installed",
        system="linux",
    )


def put(path: Path, mode: int = 0o755) -> Path:
    """Make a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def found(machine: Machine, agent_id: str = "opencode", **environment: str) -> FoundAgent:
    """Return what a machine has of an agent."""
    seen = replace(machine, environment={**machine.environment, **environment})
    return find(known(agent_id), seen)


def test_an_empty_machine_has_nothing(machine: Machine) -> None:
    """And no hints about what is not there."""
    agent = found(machine)
    assert (agent.program, agent.version, agent.hints) == (None, None, ())
    assert (agent.problems, agent.profile) == ((), None)


@pytest.mark.parametrize(
    "place",
    [
        "path",
        "installed/opencode/node_modules/.bin",
        "installed/opencode/bin",
        "home/.local/bin",
        "home/.opencode/bin",
        "home/.bun/bin",
        "home/.npm-global/bin",
        "home/bin",
        "home/.nvm/versions/node/v22.1.0/bin",
    ],
)
def test_a_program_is_found_where_installers_put_it(
    machine: Machine, tmp_path: Path, place: str
) -> None:
    """A daemon's PATH knows few of these places."""
    program = put(tmp_path / place / "opencode")
    assert found(machine).program == str(program)


def test_the_path_comes_first(machine: Machine, tmp_path: Path) -> None:
    """It is what the person would get in a terminal."""
    put(tmp_path / "home/.local/bin/opencode")
    program = put(tmp_path / "path/opencode")
    assert found(machine).program == str(program)


def test_a_program_that_cannot_be_run_is_told(machine: Machine, tmp_path: Path) -> None:
    """The next place may have a better one."""
    put(tmp_path / "path/opencode", mode=0o644)
    agent = found(machine)
    assert agent.program is None
    assert "chmod +x" in agent.problems[0]
    better = put(tmp_path / "home/bin/opencode")
    agent = found(machine)
    assert (agent.program, agent.problems) == (str(better), ())


def test_the_newest_node_is_looked_at_first(machine: Machine, tmp_path: Path) -> None:
    """By number: as a text, 9 would come after 22."""
    put(tmp_path / "home/.nvm/versions/node/v9.11.2/bin/opencode")
    newest = put(tmp_path / "home/.nvm/versions/node/v22.1.0/bin/opencode")
    assert found(machine).program == str(newest)


def test_a_place_that_cannot_be_looked_at_is_passed_over(machine: Machine, tmp_path: Path) -> None:
    """A name that is too long fails like a folder of somebody else's, and stops nothing."""
    program = put(tmp_path / "path/opencode")
    places = f"/{'x' * 300}{os.pathsep}{machine.environment['PATH']}"
    assert found(machine, PATH=places).program == str(program)
    assert (
        found(Machine(environment={}, home=Path("/" + "x" * 300), installed=tmp_path)) is not None
    )


def test_the_version_of_a_package_of_npm_is_read(machine: Machine, tmp_path: Path) -> None:
    """From its own file, which lies above the file behind the link."""
    package = tmp_path / "installed/opencode/node_modules/opencode-ai"
    put(package / "bin/opencode")
    (package / "package.json").write_text(json.dumps({"name": "opencode-ai", "version": "1.2.3"}))
    link = tmp_path / "installed/opencode/node_modules/.bin/opencode"
    link.parent.mkdir()
    link.symlink_to(package / "bin/opencode")
    agent = found(machine)
    assert (agent.program, agent.version) == (str(link), "1.2.3")


@pytest.mark.parametrize("content", ["", "[]", '{"name": "other", "version": "9"}', '{"name": 5}'])
def test_a_version_that_cannot_be_read_is_unknown(
    machine: Machine, tmp_path: Path, content: str
) -> None:
    """Nothing is run to find out."""
    put(tmp_path / "path/opencode")
    (tmp_path / "package.json").write_text(content)
    assert found(machine).version is None


def test_the_version_of_a_package_of_pypi_is_read(machine: Machine, tmp_path: Path) -> None:
    """From the name of its metadata, in the environment of the program."""
    put(tmp_path / "installed/vibe/bin/vibe-acp")
    site = tmp_path / "installed/vibe/lib/python3.13/site-packages"
    (site / "mistral_vibe-3.0.2.dist-info").mkdir(parents=True)
    assert found(machine, "vibe").version == "3.0.2"


def test_a_login_is_seen_in_variables_and_files(machine: Machine, tmp_path: Path) -> None:
    """One of them is enough; an empty variable is none."""
    assert found(machine, "claude").login == "missing"
    assert found(machine, "claude", ANTHROPIC_API_KEY="").login == "missing"
    assert found(machine, "claude", ANTHROPIC_API_KEY="x").login == "ready"
    put(tmp_path / "home/.claude/.credentials.json")
    assert found(machine, "claude").login == "ready"
    assert found(machine, "opencode").login == "optional"


def test_a_login_that_nobody_can_see_is_unknown(machine: Machine) -> None:
    """It is not called missing: on macOS Claude Code keeps it in the keychain."""
    there = replace(machine, system="darwin")
    assert find(known("claude"), there).login == "unknown"
    assert find(known("codex"), there).login == "missing"
    silent = msgspec.structs.replace(known("claude"), launch=Launch(programs=("x",)))
    assert find(silent, machine).login == "unknown"


def test_a_missing_login_comes_with_what_to_do(machine: Machine, tmp_path: Path) -> None:
    """Only of an agent that is there."""
    assert not found(machine, "codex").hints
    put(tmp_path / "path/codex-acp")
    assert found(machine, "codex").hints[0] == "log in first: codex login"


def test_a_profile_runs_what_was_found(machine: Machine, tmp_path: Path) -> None:
    """By its absolute path, with what the catalogue knows of the agent."""
    program = put(tmp_path / "path/gemini")
    profile = found(machine, "gemini").profile
    assert profile is not None
    assert profile.command == (str(program), "--acp")
    assert profile.options == {"resumable": False}
