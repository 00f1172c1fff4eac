"""The catalogue of agents: what ships is whole, and what a person adds is checked."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from spaced.agents.catalogue import read_catalogue
from spaced.agents.entries import Entry
from spaced.domain.fetchers import fetches_another
from spaced.domain.profile_checks import check_profile
from spaced.plugin_host.host import load_plugins

OURS = read_catalogue().entries


def entry(**fields: Any) -> dict[str, Any]:
    """Return an entry as a person writes it."""
    return {
        "id": "mine",
        "name": "Mine",
        "version": "1",
        "description": "An agent.",
        "distribution": {},
        "spaced": {"programs": ["mine"]},
        **fields,
    }


@pytest.mark.parametrize("known", OURS, ids=lambda known: known.id)
def test_every_agent_that_ships_can_be_used(known: Entry) -> None:
    """Its profile is taken as it is, by a runtime that is there."""
    profile = known.profile("/opt/bin/agent")
    check_profile(profile)
    assert profile.runtime in load_plugins().runtimes
    assert profile.command == ("/opt/bin/agent", *known.launch.arguments)
    assert not any(
        fetches_another((name, *known.launch.arguments)) for name in known.launch.programs
    )


@pytest.mark.parametrize("known", OURS, ids=lambda known: known.id)
def test_every_agent_that_ships_can_be_had(known: Entry) -> None:
    """Of one version, from npm or PyPI, and it is said how one logs in."""
    ways = [known.distribution.npx, known.distribution.uvx]
    (way,) = [way for way in ways if way is not None]
    assert way.package.endswith((f"@{known.version}", f"=={known.version}"))
    assert known.launch.login.how
    assert known.description.endswith(".")


def test_ids_are_unique_and_profiles_too() -> None:
    """A profile's id is made of the agent's."""
    assert (
        len({known.profile_id for known in OURS}) == len({known.id for known in OURS}) == len(OURS)
    )


def test_a_persons_entry_wins_over_ours(tmp_path: Path) -> None:
    """And one of a new id is added; keys of the registry that we do not use are left alone."""
    registry = {"repository": "r", "authors": ["a"], "icon": "i.svg"}
    (tmp_path / "a.json").write_text(json.dumps(entry(id="opencode", name="My own", **registry)))
    (tmp_path / "b.json").write_text(json.dumps(entry()))
    found = read_catalogue(tmp_path)
    assert not found.broken
    names = {known.id: known.name for known in found.entries}
    assert (names["opencode"], names["mine"]) == ("My own", "Mine")
    assert len(found.entries) == len(OURS) + 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b"{}",
        json.dumps(entry(id="No Good")).encode(),
        json.dumps(entry(spaced={"programs": []})).encode(),
        json.dumps(entry(spaced={"programs": ["npx"]})).encode(),
        json.dumps(entry(spaced={"programs": "mine"})).encode(),
        json.dumps(entry(spaced={"programs": ["sub/mine"]})).encode(),
        json.dumps(entry(spaced={"programs": [""]})).encode(),
        json.dumps(entry(spaced={"programs": ["mine\0"]})).encode(),
        json.dumps(entry(spaced={"programs": ["uv"], "arguments": ["tool", "run", "x"]})).encode(),
        json.dumps(entry(spaced={"programs": ["mine"], "environment": ["1 X"]})).encode(),
        json.dumps(entry(description="x" * 300_000)).encode(),
        json.dumps(entry(deep=0)).replace("0", "[" * 90_000 + "]" * 90_000).encode(),
    ],
    ids=lambda content: repr(content[-40:]),
)
def test_a_bad_entry_costs_only_itself(tmp_path: Path, content: bytes) -> None:
    """It is named with its file and a reason."""
    (tmp_path / "bad.json").write_bytes(content)
    (tmp_path / "good.json").write_text(json.dumps(entry()))
    found = read_catalogue(tmp_path)
    (problem,) = found.broken
    assert "bad.json" in problem
    assert found.entry("mine") is not None


def test_a_pipe_in_the_folder_is_not_waited_for(tmp_path: Path) -> None:
    """Reading it would hold up the daemon's start for ever."""
    os.mkfifo(tmp_path / "pipe.json")
    (problem,) = read_catalogue(tmp_path).broken
    assert "is no file" in problem


def test_a_persons_entry_may_name_an_absolute_path(tmp_path: Path) -> None:
    """Their agent may lie where nobody looks."""
    (tmp_path / "mine.json").write_text(json.dumps(entry(spaced={"programs": ["/opt/mine/run"]})))
    assert read_catalogue(tmp_path).entry("mine") is not None


@pytest.mark.parametrize(
    ("command", "fetches"),
    [
        ("npx agent", True),
        ("/usr/bin/uvx agent", True),
        ("pipx run agent", True),
        ("npm exec --yes agent", True),
        ("npm --yes exec agent", True),
        ("pnpm dlx agent", True),
        ("yarn dlx agent", True),
        ("bun x agent", True),
        ("/opt/uv tool run agent", True),
        ("uv run agent", False),
        ("bun agent.ts", False),
        ("/opt/agents/npx-agent --acp", False),
        ("agent npx", False),
    ],
)
def test_a_command_that_fetches_another_program_is_known(command: str, fetches: bool) -> None:
    """By what it is called, and by what it is told to do."""
    assert fetches_another(command.split()) is fetches


def test_without_a_folder_there_is_what_ships(tmp_path: Path) -> None:
    """Most people add nothing."""
    assert read_catalogue(tmp_path / "none").entries == OURS
    assert read_catalogue(tmp_path / ("x" * 300)).entries == OURS
    assert read_catalogue().entry("no-such-agent") is None
