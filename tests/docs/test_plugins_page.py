"""The page for plugin authors is true: its blocks are run or compared, its tables are complete."""

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, get_args

import pytest

from spaced.cli.plugin_package.package import package_texts
from spaced.runtime.protocol import AgentConnection, AgentRuntime, Capabilities
from spaced.runtime.updates import Update
from spaced.testing.runtime_harness import BEHAVIOURS

PAGE: Final = Path(__file__).parents[2] / "docs" / "plugins.md"
TEXT: Final = PAGE.read_text(encoding="utf-8")
PACKAGE: Final = package_texts("acme")
NOT_SHOWN: Final = {"README.md", "spaced_acme/py.typed"}
"""Files that the page only lists: a text for users of the plugin, and an empty one."""

_FENCE: Final = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<code>.*?)^```$',
    flags=re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of code on the page.

    Attributes:
        title: the file of the package that it is a part of; `None` if it stands for itself.
    """

    language: str
    title: str | None
    code: str


BLOCKS: Final = [
    Block(language=found["language"], title=found["title"], code=found["code"])
    for found in _FENCE.finditer(TEXT)
]
SHOWN: Final = sorted({block.title for block in BLOCKS if block.title})
EXAMPLES: Final = [b.code for b in BLOCKS if b.language == "python" and not b.title]
COMMANDS: Final = [
    shlex.split(line) for b in BLOCKS if b.language == "console" for line in b.code.splitlines()
]


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    """A file of the package, an example in Python, or commands; nothing is only to look at."""
    untested = [b for b in BLOCKS if not b.title and b.language not in ("python", "console")]

    assert untested == []
    assert len(re.findall(r"^```", TEXT, flags=re.MULTILINE)) == 2 * len(BLOCKS)


@pytest.mark.parametrize("path", SHOWN)
def test_a_file_on_the_page_is_the_one_that_is_written(path: str) -> None:
    """Its pieces, one after the other, are all of it; whoever changes one changes the other."""
    pieces = "".join(block.code for block in BLOCKS if block.title == path)

    assert _without_blank_lines(pieces) == _without_blank_lines(PACKAGE[path])


def test_every_file_of_the_package_is_on_the_page() -> None:
    """It is listed with what an author changes in it, and shown unless there is nothing to see."""
    listed = _first_column("| file |")

    assert sorted(listed) == sorted(PACKAGE)
    assert set(SHOWN) | NOT_SHOWN == set(PACKAGE)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(example: str, tmp_path: Path) -> None:
    """In a file of its own, with warnings as errors."""
    script = tmp_path / "example.py"
    script.write_text(example, encoding="utf-8")

    _run([sys.executable, "-W", "error", str(script)], tmp_path)


def test_the_example_of_a_storage_is_a_suite_that_passes(tmp_path: Path) -> None:
    """Pasted into a file it proves something; here a few tests stand for all."""
    (example,) = (code for code in EXAMPLES if "StorageContract" in code)
    (tmp_path / "test_storage.py").write_text(example, encoding="utf-8")
    (tmp_path / "pytest.ini").touch()
    few = "one_name_for_life or every_answered_append or versions"

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", few]
    said = _run([*command, "-o", "asyncio_default_fixture_loop_scope=function"], tmp_path)

    assert re.search(r"\b[1-9]\d* passed", said), said


def test_the_tools_of_the_page_come_with_the_package() -> None:
    """After the `pip install` that is shown, every other command that is shown can be typed."""
    settings = tomllib.loads(PACKAGE["pyproject.toml"])["project"]
    extras = settings["optional-dependencies"]
    brought = {re.split(r"[^\w-]", requirement)[0] for requirement in extras["dev"]}

    for program, *arguments in COMMANDS:
        match program:
            case "spaced":
                continue
            case "cd":
                assert arguments == [settings["name"]]
            case "pip":
                assert arguments == ["install", "-e", ".[dev]"]
            case _:
                assert program in brought


@pytest.mark.parametrize(
    "arguments", [command[1:] for command in COMMANDS if command[0] == "spaced"], ids=shlex.join
)
def test_a_command_of_the_page_exists(arguments: Sequence[str], tmp_path: Path) -> None:
    """With its options: `--help` is added, and an unknown one would be refused before that."""
    start = "from spaced.cli.main import main; main()"

    assert _run([sys.executable, "-c", start, *arguments, "--help"], tmp_path)


def test_the_page_lists_every_update() -> None:
    """An author looks there for the word that an agent's message needs."""
    assert _first_column("| update |") == [update.__name__ for update in get_args(Update)]


def test_the_page_lists_every_behaviour() -> None:
    """In the words of the harness."""
    assert _first_column("| behaviour |") == list(BEHAVIOURS)


def test_the_page_lists_every_method() -> None:
    """What is listed is what has to be written; `close` is one of both."""
    methods = [*_methods_of(AgentRuntime), *_methods_of(AgentConnection)]

    assert sorted(_first_column("| method |")) == sorted(set(methods))


def test_the_page_lists_every_capability() -> None:
    """And so what each of them takes."""
    assert _first_column("| capability |") == [field.name for field in fields(Capabilities)]


def test_links_of_the_page_lead_somewhere() -> None:
    """To a file beside it, or to a heading."""
    links = re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", TEXT)

    assert links
    for path, heading in links:
        target = PAGE.parent / path if path else PAGE
        assert target.is_file(), path
        assert not heading or heading in _headings(target.read_text(encoding="utf-8"))


def _headings(text: str) -> Iterable[str]:
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]


def _first_column(head: str) -> Sequence[str]:
    """Return what stands in backticks in the first column of the table that begins so."""
    _, found, rest = TEXT.partition(f"\n{head}")
    assert found, f"docs/plugins.md has no table that begins with {head!r}"
    return re.findall(r"^\| `([^`]+)` \|", rest.partition("\n\n")[0], flags=re.MULTILINE)


def _methods_of(protocol: type) -> Sequence[str]:
    members: Mapping[str, object] = vars(protocol)
    return [name for name, value in members.items() if callable(value) and name[0] != "_"]


def _without_blank_lines(text: str) -> Sequence[str]:
    return [line for line in text.splitlines() if line]


def _run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout
