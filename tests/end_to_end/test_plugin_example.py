"""The package that `spaced plugins new` writes works as its author gets it: built, installed, tested.

It is installed together with the wheel of spaced into an empty environment, so nothing of this
checkout is in sight there. Third parties' packages come from the index that pip is set up with;
without one the tests skip and name what is missing.
"""

import json
import os
import subprocess
import sys
import tomllib
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from spaced.cli.plugin_package.package import package_texts, write_package
from tests.end_to_end.wheels import run

REPOSITORY: Final = Path(__file__).parents[2]
_TIME_LIMIT: Final = 60
_NOT_OFFERED: Final = "No matching distribution found for "

LIST_PLUGINS: Final = """
import json
from dataclasses import asdict
from spaced.plugin_host.host import load_plugins

host = load_plugins()
told = {plugin.name: asdict(plugin) for plugin in host.inventory.plugins}
print(json.dumps({"plugins": told, "problems": host.inventory.problems}))
"""

WRITE_TEXTS: Final = """
import json
from spaced.cli.plugin_package.package import package_texts

print(json.dumps(package_texts("acme")))
"""

CHAT: Final = """
import asyncio
import json
import sys
from pathlib import Path

from spaced.clock import SystemClock
from spaced.domain.chat import ChatRequest
from spaced.domain.profile import Profile
from spaced.engine.engine import Engine
from spaced.engine.prompts import Address, PromptRequest
from spaced.engine.transcripts import newest_items
from spaced.log.read_models.catalogue import TABLES
from spaced.plugin_host.host import load_plugins
from spaced.storage.protocol import StoragePlace

CHAT = Address(kind="session", id="ses_0193a5b2c7d0AAAAAAAAAAAAAA")
FOLDER = Path(sys.argv[1])
host = load_plugins()


async def live(*texts, is_first):
    place = StoragePlace(
        folder=FOLDER / "storage", tables=tuple(TABLES.values()), clock=SystemClock()
    )
    storage = await host.storage("sqlite").open(place)
    runtimes = {"acme": host.runtime("acme")}
    engine = Engine(storage, runtimes, clock=SystemClock(), state_folder=FOLDER / "state")
    await engine.start()
    if is_first:
        rules = ({"tool_kind": "edit", "decision": "allow"},)
        profile = Profile(name="Acme", agent_name="acme", runtime="acme", permissions=rules)
        profile_id = (await engine.profiles.create(profile)).id
        chat = ChatRequest(profile_id=profile_id, directory=str(FOLDER))
        await engine.sessions.create(chat, session_id=CHAT.id)
    for text in texts:
        await engine.prompts.send(CHAT, PromptRequest(parts=[{"type": "text", "text": text}]))
        await engine.coordinator.idle(CHAT.id)
    items = (await newest_items(storage, CHAT.id, limit=100)).items
    await engine.stop()
    await storage.close()
    return items


asyncio.run(live("Good morning", "write notes.txt Hello", is_first=True))
print(json.dumps(asyncio.run(live("recall", is_first=False))))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """Where an author works.

    Attributes:
        package: the folder of the package.
        python: of the environment that it is installed in.
    """

    package: Path
    python: Path

    def script(self, text: str, *arguments: str) -> Any:
        """Run a script in the environment and return the JSON that it prints."""
        command = [str(self.python), "-I", "-W", "error", "-c", text, *arguments]
        return json.loads(run(command, folder=self.python.parent))


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A package as it is written, installed in an environment that holds nothing else."""
    folder = tmp_path_factory.mktemp("workshop")
    write_package("acme", folder)
    package = folder / "spaced-acme"
    venv.create(folder / "environment", symlinks=True)
    python = folder / "environment" / "bin" / "python"
    _install_from_index(python, _third_parties(package))
    wheels = folder / "wheels"
    building = ["--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", str(wheels)]
    run([*_pip(python, "wheel"), *building, str(REPOSITORY), str(package)], folder=folder)
    # With its dependencies, but without an index: they are there, if it names the right ones.
    offline = ["--no-compile", "--no-index", "--find-links", str(wheels)]
    run([*_pip(python, "install"), *offline, "spaced-acme[dev]"], folder=folder)
    return Workshop(package=package, python=python)


def test_the_installed_spaced_writes_the_same_package(workshop: Workshop) -> None:
    """Its templates are part of the wheel."""
    assert workshop.script(WRITE_TEXTS) == package_texts("acme")


def test_the_host_lists_the_plugin_as_loaded(workshop: Workshop) -> None:
    """Its entry point is found, its hook runs, and it comes from the environment."""
    told = workshop.script(LIST_PLUGINS)

    plugin = told["plugins"]["acme"]
    assert (plugin["state"], plugin["distribution"]) == ("loaded", "spaced-acme"), plugin
    assert Path(plugin["origin"]).is_relative_to(workshop.python.parents[1])
    assert told["problems"] == []


def test_the_package_passes_its_own_tests(workshop: Workshop) -> None:
    """The contract holds, and skips only what its toy agent says that it cannot do."""
    pytest_there = str(workshop.python.with_name("pytest"))

    said = run([pytest_there, "-rs", "-p", "no:cacheprovider"], folder=workshop.package)

    skipped = [line for line in said.splitlines() if line.startswith("SKIPPED")]
    assert " passed, " in said
    assert skipped
    assert [line for line in skipped if "this agent" not in line] == []


def test_the_package_is_typed_and_tidy(workshop: Workshop, tmp_path: Path) -> None:
    """An author starts without a single finding of mypy in strict mode and of ruff."""
    cache = ["--cache-dir", str(tmp_path)]
    tools = ([sys.executable, "-m", tool] for tool in ("mypy", "ruff", "ruff"))
    mypy, ruff_check, ruff_format = tools

    run(
        [*mypy, *cache, "--strict", "--python-executable", str(workshop.python), "."],
        folder=workshop.package,
    )
    run([*ruff_check, "check", *cache, "."], folder=workshop.package)
    run([*ruff_format, "format", "--check", *cache, "."], folder=workshop.package)


def test_a_chat_with_it_goes_on_after_a_restart(workshop: Workshop, tmp_path: Path) -> None:
    """Its agent forgets with its process, says so, and is told what was said before."""
    items = workshop.script(CHAT, str(tmp_path))

    said = [item["content"] for item in items if item.get("role") == "assistant"]
    (result,) = (item for item in items if item["type"] == "tool-result")
    assert said[0] == "Good morning"
    assert (result["output"], result["is_error"]) == ("notes.txt was written.", False)
    assert (tmp_path / "notes.txt").read_text() == "Hello"
    assert "Good morning" in said[-1]
    assert "notes.txt" in said[-1]


def _third_parties(package: Path) -> Sequence[str]:
    """Return what has to come from an index: for building, for spaced, and for the package."""
    ours, its = (_settings(folder) for folder in (REPOSITORY, package))
    needed = {
        *ours["build-system"]["requires"],
        *its["build-system"]["requires"],
        *ours["project"]["dependencies"],
        *its["project"]["optional-dependencies"]["dev"],
    }
    return sorted(needed)


def _settings(folder: Path) -> Mapping[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def _install_from_index(python: Path, requirements: Sequence[str]) -> None:
    """Install what others have written, or skip and say what the index does not give."""
    pins = ["--constraint", str(REPOSITORY / "constraints.txt")]
    done = _ask_index(python, "--no-compile", *pins, *requirements)
    if done.returncode != 0:
        # Where a pin applies pip speaks of a conflict, also if there is no index at all.
        offered = _ask_index(python, "--dry-run", "--no-deps", *requirements)
        _, is_missing, rest = offered.stderr.partition(_NOT_OFFERED)
        if is_missing:
            pytest.skip(f"no package index within reach of pip offers {rest.splitlines()[0]}")
    assert done.returncode == 0, done.stderr


def _ask_index(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*_pip(python, "install"), "--retries", "1", "--timeout", "15", *arguments],
        env={**os.environ, "PIP_CONSTRAINT": ""},
        capture_output=True,
        text=True,
        timeout=_TIME_LIMIT,
        check=False,
    )


def _pip(python: Path, command: str) -> Sequence[str]:
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    return [*pip, command, "--quiet"]
