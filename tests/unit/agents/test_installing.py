"""How agents are installed: into folders of their own, by what is on the machine."""

import sys
from pathlib import Path

import pytest

from spaced.agents.catalogue import read_catalogue
from spaced.agents.entries import Distribution, Entry, Launch
from spaced.agents.installing import installation_of
from spaced.refusals import InvalidRequest

FOLDER = Path("/data/agents")
OPENCODE, VIBE = (
    next(entry for entry in read_catalogue().entries if entry.id == name)
    for name in ("opencode", "vibe")
)


def test_a_package_of_npm_goes_into_a_folder(tmp_path: Path) -> None:
    """Of the version that the catalogue knows."""
    plan = installation_of(OPENCODE, FOLDER, which=lambda name: f"/bin/{name}")
    (command,) = plan.commands
    assert command[:4] == ("/bin/npm", "install", "--prefix", "/data/agents/opencode")
    assert command[-1] == f"opencode-ai@{OPENCODE.version}"


def test_without_npm_it_is_said_what_is_missing() -> None:
    """And what brings it along."""
    with pytest.raises(InvalidRequest, match="npm") as caught:
        installation_of(OPENCODE, FOLDER, which=lambda name: None)
    assert "Node.js" in caught.value.remedy


def test_a_package_of_pypi_gets_an_environment_of_its_own() -> None:
    """With an interpreter that is new enough for it."""
    has = {"python3.14": "/bin/python3.14"}
    plan = installation_of(VIBE, FOLDER, which=has.get)
    venv, pip = plan.commands
    expected = sys.executable if sys.version_info >= (3, 12) else "/bin/python3.14"
    assert venv == (expected, "-m", "venv", "/data/agents/vibe")
    assert pip[0] == "/data/agents/vibe/bin/python"
    assert pip[-1] == f"mistral-vibe=={VIBE.version}"


def test_without_such_an_interpreter_it_is_said() -> None:
    """An agent for a Python that nobody has yet."""
    future = Entry(
        id="future",
        name="Future",
        version="1",
        description="From there.",
        distribution=VIBE.distribution,
        launch=Launch(programs=("x",), python="3.99"),
    )
    with pytest.raises(InvalidRequest, match=r"3\.99"):
        installation_of(future, FOLDER, which=lambda name: None)


def test_what_comes_from_elsewhere_is_not_guessed() -> None:
    """The registry has ways that nobody should go unseen."""
    binary = Entry(
        id="binary",
        name="Binary",
        version="1",
        description="An archive.",
        distribution=Distribution(),
        launch=Launch(programs=("x",)),
        website="https://example.org",
    )
    with pytest.raises(InvalidRequest, match="how Binary is installed") as caught:
        installation_of(binary, FOLDER)
    assert "https://example.org" in caught.value.remedy
