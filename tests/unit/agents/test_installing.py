"""How agents are installed: into folders of their own, by what is on the machine."""

import subprocess
import sys
from pathlib import Path

import pytest

from spaced.agents.catalogue import read_catalogue
from spaced.agents.entries import Distribution, Entry, Launch
from spaced.agents.installing import Installation, installation_of, run_installation
from spaced.errors import RuntimeProblem
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
    assert plan.programs == (FOLDER / "opencode/node_modules/.bin/opencode",)


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
    assert plan.programs == (FOLDER / "vibe/bin/vibe-acp",)


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


def plan_of(folder: Path, *lines: str) -> Installation:
    """Return a plan that runs lines of shell in a folder."""
    begin = f"mkdir -p {folder} && cd {folder} && "
    return Installation(
        folder=folder,
        commands=[("/bin/sh", "-c", begin + line) for line in lines],
        programs=(folder / "one", folder / "two"),
    )


def test_an_installation_ends_with_the_program(tmp_path: Path) -> None:
    """All commands are run, in their order."""
    plan = plan_of(tmp_path / "data" / "x", "touch first", "mv first two")
    assert run_installation(plan) == tmp_path / "data" / "x" / "two"


def test_what_fails_takes_a_new_folder_with_it_and_leaves_an_old_one(tmp_path: Path) -> None:
    """A half of an agent would be found; one that worked before may still do."""
    plan = plan_of(tmp_path / "x", "touch one; exit 7", "touch never")
    with pytest.raises(RuntimeProblem, match="exit code 7"):
        run_installation(plan)
    assert not plan.folder.exists()
    plan.folder.mkdir()
    with pytest.raises(RuntimeProblem, match="exit code 7"):
        run_installation(plan)
    assert [path.name for path in plan.folder.iterdir()] == ["one"]


def test_an_interrupt_takes_a_new_folder_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People lose patience with downloads."""
    plan = plan_of(tmp_path / "x", "true")

    def interrupted(*_: object, **__: object) -> None:
        plan.folder.mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_installation(plan)
    assert not plan.folder.exists()


def test_an_installation_without_the_program_is_a_failure(tmp_path: Path) -> None:
    """Whatever the package manager says."""
    with pytest.raises(RuntimeProblem, match="there is no") as caught:
        run_installation(plan_of(tmp_path / "x", "touch three"))
    assert str(tmp_path / "x") in caught.value.remedy
