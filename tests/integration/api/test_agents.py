"""Agents over the API: what is known, what is here, and the profiles that could be made."""

import json
from pathlib import Path

import pytest

from spaced.client import calls
from tests.integration.api.api_house import ApiHouse


def put(folder: Path, name: str) -> Path:
    """Put a program where the daemon looks."""
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


async def test_without_any_agent_all_are_listed_as_missing(api: ApiHouse) -> None:
    """With what one needs to get them."""
    found = await api.client().do(calls.agents())
    assert {one.id for one in found.agents} >= {"opencode", "claude", "codex", "gemini", "vibe"}
    assert {one.program for one in found.agents} == {None}
    assert all(one.log_in and one.description for one in found.agents)
    assert (await api.client().do(calls.detected_profiles())).profiles == ()


async def test_an_installed_agent_is_found_with_its_profile(api: ApiHouse) -> None:
    """The same profile each time, until it is made."""
    program = put(api.house.folder, "opencode")
    client = api.client()
    agents = {one.id: one for one in (await client.do(calls.agents())).agents}
    assert (agents["opencode"].program, agents["opencode"].login) == (str(program), "optional")

    (detected,) = (await client.do(calls.detected_profiles())).profiles
    assert (detected.profile_id, detected.exists) == ("prof_opencode", False)
    made = await client.do(calls.create_profile(detected.profile_id, detected.definition))
    assert made.command == (str(program), "acp")
    assert "OPENCODE_DISABLE_AUTOUPDATE=1" in made.environment

    (again,) = (await client.do(calls.detected_profiles())).profiles
    assert again.exists is True
    await client.do(calls.delete_profile(made.id))
    (gone,) = (await client.do(calls.detected_profiles())).profiles
    assert gone.exists is True  # an id means one thing for ever


async def test_what_keeps_an_agent_from_starting_is_told(api: ApiHouse) -> None:
    """Apart from what is only good to know."""
    put(api.house.folder, "opencode").write_text("#!/no/such/interpreter\n")
    agents = {one.id: one for one in (await api.client().do(calls.agents())).agents}
    (problem,) = agents["opencode"].problems
    assert "/no/such/interpreter" in problem
    assert problem not in agents["opencode"].hints
    assert agents["claude"].problems == ()


@pytest.mark.parametrize("content", ["no json", '{"id": "x"}'])
async def test_a_bad_entry_of_a_person_is_told(api: ApiHouse, content: str) -> None:
    """And takes nothing else away."""
    folder = api.house.folder / "agents"
    folder.mkdir()
    (folder / "bad.json").write_text(content)
    found = await api.client().do(calls.agents())
    (problem,) = found.problems
    assert "bad.json" in problem
    assert found.agents


async def test_an_entry_of_a_person_is_an_agent_like_any(api: ApiHouse) -> None:
    """Found, and with a profile that can be made."""
    folder = api.house.folder / "agents"
    folder.mkdir()
    entry = {
        "id": "my-agent",
        "name": "Mine",
        "version": "1",
        "description": "An agent.",
        "distribution": {},
        "spaced": {
            "programs": ["my-agent"],
            "arguments": ["--acp"],
            "options": {"idle_seconds": 5},
        },
    }
    (folder / "mine.json").write_text(json.dumps(entry))
    program = put(api.house.folder, "my-agent")
    (detected,) = (await api.client().do(calls.detected_profiles())).profiles
    assert detected.profile_id == "prof_my_agent"
    assert detected.definition["command"] == [str(program), "--acp"]
    assert detected.definition["options"] == {"idle_seconds": 5}
