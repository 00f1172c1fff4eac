"""docs/agents.md says what the code says: options, agents, commands."""

import json
import re
import shlex
from dataclasses import fields
from pathlib import Path

import msgspec
import pytest

from spaced.agents.catalogue import read_catalogue
from spaced.agents.entries import Entry
from spaced.domain.profile import Profile
from spaced.domain.profile_checks import check_profile
from spaced.wire.requests import ProfileDefinition
from spaced_acp.options import AcpOptions, read_options
from spaced_command.options import PRESETS, CommandOptions
from spaced_opencode.options import read_options as read_server_options
from tests.docs.command_lines import check_command

PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()


def section(title: str) -> str:
    """Return what stands under a heading, without the headings below it."""
    found = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def named_in_tables(text: str) -> set[str]:
    """Return the names in the first column of tables."""
    cells = re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def blocks(kind: str) -> list[str]:
    """Return the blocks of a kind."""
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_options_of_the_protocol_are_all_there() -> None:
    """And no other."""
    known = {each.name for each in fields(AcpOptions)} - {"agent"}
    assert named_in_tables(section("Agents that speak the Agent Client Protocol")) == known
    assert read_options({"thought_level": "high"}).agent == {"thought_level": "high"}


def test_the_options_of_commands_are_all_there() -> None:
    """And the presets."""
    text = section("Programs without a protocol")
    assert named_in_tables(text) == set(CommandOptions.__struct_fields__)
    assert all(f"`{preset}`" in text for preset in PRESETS)


def test_every_known_agent_has_its_section() -> None:
    """In the order of the catalogue."""
    told = re.findall(r"^### (.+)$", section("The known agents"), re.MULTILINE)
    assert told == [entry.id for entry in read_catalogue().entries]


def test_the_example_of_an_own_agent_is_one() -> None:
    """It is read as the daemon reads it."""
    example = json.loads(blocks("json")[-1])
    entry = msgspec.convert(example, Entry)
    assert entry.profile("/x").command == ("/x", "--acp")


def test_the_example_of_a_profile_is_one() -> None:
    """It is taken as it is, and its options are those of the runtime."""
    example = msgspec.convert(json.loads(blocks("json")[0]), ProfileDefinition)
    profile = Profile(**msgspec.structs.asdict(example))
    check_profile(profile)
    assert read_server_options(profile).url == "http://127.0.0.1:4096"


@pytest.mark.parametrize(
    "line", [line for block in blocks("console") for line in block.splitlines()]
)
def test_every_command_on_the_page_is_one(line: str) -> None:
    """With arguments that it takes."""
    check_command(shlex.split(line)[1:])
