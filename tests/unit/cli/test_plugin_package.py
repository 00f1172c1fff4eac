"""The package that an author of a plugin starts from: what is written where, and what is refused."""

import ast
import os
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from spaced.cli.plugin_package.package import write_package
from spaced.refusals import InvalidRequest, Refused

FILES = [
    "README.md",
    "pyproject.toml",
    "spaced_acme/__init__.py",
    "spaced_acme/agent.py",
    "spaced_acme/connection.py",
    "spaced_acme/messages.py",
    "spaced_acme/py.typed",
    "spaced_acme/runtime.py",
    "tests/conftest.py",
    "tests/test_contract.py",
    "tests/test_messages.py",
]

SMALL_FILES_ONLY = """
import resource, signal, sys
from pathlib import Path
from spaced.cli.plugin_package.package import write_package
from spaced.errors import SpacedError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    write_package("acme", Path(sys.argv[1]))
except SpacedError as error:
    print(error.message)
"""


def test_every_file_is_written_and_named(tmp_path: Path) -> None:
    """All of them lie in one new folder that is called like the distribution."""
    written = write_package("acme", tmp_path)

    home = tmp_path / "spaced-acme"
    assert written == [home / name for name in FILES]
    assert sorted(path for path in home.rglob("*") if path.is_file()) == sorted(written)


def test_a_name_of_several_words_takes_its_form_everywhere(tmp_path: Path) -> None:
    """With dashes for people, with underscores for Python, and as a class."""
    write_package("blue-fox2", tmp_path)

    home = tmp_path / "spaced-blue-fox2"
    settings = tomllib.loads((home / "pyproject.toml").read_text())
    project = settings["project"]
    assert project["name"] == "spaced-blue-fox2"
    assert project["entry-points"]["spaced"] == {"blue-fox2": "spaced_blue_fox2"}
    assert settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [
        "spaced_blue_fox2"
    ]
    assert (
        'register("blue-fox2", BlueFox2Runtime'
        in (home / "spaced_blue_fox2" / "__init__.py").read_text()
    )


def test_nothing_is_left_of_the_name_in_the_templates(tmp_path: Path) -> None:
    """The author's package says nothing of somebody else's."""
    written = write_package("blue-fox2", tmp_path)

    found = [path for path in written if re.search("acme", path.read_text(), re.IGNORECASE)]
    assert found == []
    assert "acme" not in str([path.relative_to(tmp_path) for path in written])


def test_every_module_is_python(tmp_path: Path) -> None:
    """Whatever the name; the longest one too."""
    for path in write_package("a" * 40, tmp_path):
        if path.suffix == ".py":
            ast.parse(path.read_text())


def test_two_packages_lie_beside_each_other(tmp_path: Path) -> None:
    """A second one has a folder of its own."""
    first = write_package("acme", tmp_path)
    second = write_package("acme-two", tmp_path)

    assert not set(first) & set(second)
    assert all(path.is_file() for path in [*first, *second])


@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_everything_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    """As with every file that spaced creates; the author opens what others may read."""
    before = os.umask(umask)
    try:
        written = write_package("acme", tmp_path)
    finally:
        os.umask(before)

    home = tmp_path / "spaced-acme"
    folders = [home, *(path for path in home.rglob("*") if path.is_dir())]
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


@pytest.mark.parametrize(
    ("name", "likeness"),
    [
        ("Acme", "acme"),
        ("acme_two", "acme-two"),
        ("acme two", "acme-two"),
        ("acme--two", "acme-two"),
        ("-acme", "acme"),
        ("acme-", "acme"),
        ("3acme", "acme"),
        ("../acme", "acme"),
        ("acme\n", "acme"),
        ("spaced_Acme", "acme"),
        ("ácmé", "cm"),
        ("a" * 41, "a" * 40),
        ("", "acme"),
        ("42", "acme"),
    ],
)
def test_a_name_that_cannot_be_is_refused_with_one_that_can(
    tmp_path: Path, name: str, likeness: str
) -> None:
    """The remedy says what a name is, and nothing was written."""
    with pytest.raises(InvalidRequest) as refusal:
        write_package(name, tmp_path)

    assert repr(name) in refusal.value.message
    assert refusal.value.remedy.endswith(f": {likeness}.")
    assert list(tmp_path.iterdir()) == []


def test_the_first_word_of_the_distribution_is_not_part_of_the_name(tmp_path: Path) -> None:
    """`spaced-acme` would become `spaced-spaced-acme`."""
    with pytest.raises(InvalidRequest) as refusal:
        write_package("spaced-acme", tmp_path)

    assert refusal.value.remedy == "Leave the first word out: acme."


@pytest.mark.parametrize("name", ["scripted", "sqlite"])
def test_a_name_of_ours_is_refused(tmp_path: Path, name: str) -> None:
    """Both modules would be called the same, and both plugins would be in doubt."""
    with pytest.raises(InvalidRequest, match=f"spaced itself has a plugin '{name}'"):
        write_package(name, tmp_path)


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_nothing_is_written_over(tmp_path: Path, kind: str) -> None:
    """An empty folder, a file and a link that leads nowhere are all somebody's."""
    home = tmp_path / "spaced-acme"
    match kind:
        case "folder":
            home.mkdir()
        case "file":
            home.write_text("mine")
        case _:
            home.symlink_to(tmp_path / "nowhere")
    before = home.lstat()

    with pytest.raises(Refused, match="exists already"):
        write_package("acme", tmp_path)

    assert home.lstat() == before
    assert list(tmp_path.iterdir()) == [home]
    assert kind != "folder" or list(home.iterdir()) == []


def test_a_package_is_written_once(tmp_path: Path) -> None:
    """The work of an author outlives a second try."""
    written = write_package("acme", tmp_path)
    written[0].write_text("My own words.")

    with pytest.raises(Refused):
        write_package("acme", tmp_path)

    assert written[0].read_text() == "My own words."


@pytest.mark.parametrize("place", ["nowhere", "file"])
def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, place: str) -> None:
    """It is not made: a misspelt path should not become a folder."""
    (tmp_path / "file").touch()

    with pytest.raises(InvalidRequest, match="there is no folder"):
        write_package("acme", tmp_path / place)

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_package_that_cannot_be_finished_leaves_nothing(tmp_path: Path) -> None:
    """Half a package would be in the way of the second try."""
    command = [sys.executable, "-c", SMALL_FILES_ONLY, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    assert "cannot be written: File too large" in done.stdout
    assert list(tmp_path.iterdir()) == []
