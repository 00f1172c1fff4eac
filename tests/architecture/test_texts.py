"""What no file of the repository may say: places of one machine, and hosts of one network."""

import re

import pytest

from tests.architecture.repository import texts

# In pieces, so that this file obeys its own rules.
HOMES = re.compile(r"(?<![\w.$~}-])/(work|root|home)/")
INDEXES = re.compile(
    "|".join(
        [
            rf"\b{'pypi'}\.org\b",
            rf"\b{'pythonhosted'}\.org\b",
            rf"\b{'npmjs'}\.(org|com)\b",
            rf"\b{'crates'}\.io\b",
            rf"\b{'proxy'}\.golang\.org\b",
            rf"--(extra-)?{'index'}-url\b",
            rf"https?://\S+/{'simple'}\b",
        ]
    )
)


def _lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path}:{number}: {line.strip()}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_file_names_a_folder_of_one_machine() -> None:
    """A path that exists for its author only is wrong for everybody else."""
    found = _lines_with(HOMES)

    assert not found, f"use a relative path: {found}"


def test_no_file_names_a_package_index() -> None:
    """Where packages come from is the business of whoever installs them."""
    found = _lines_with(INDEXES)

    assert not found, f"leave this to the installer's settings: {found}"


@pytest.mark.parametrize("text", ["cd /{}/main", "'/{}/x'", "file:///{}/x"])
@pytest.mark.parametrize("folder", ["work", "root", "home"])
def test_the_rule_recognises_absolute_paths(text: str, folder: str) -> None:
    """A rule that never finds anything would prove nothing."""
    assert HOMES.search(text.format(folder))


@pytest.mark.parametrize("text", ["docs/work/x", "./home/x", "$HOME/home/x", "/workflows/", "~/x"])
def test_the_rule_leaves_other_paths_alone(text: str) -> None:
    """Relative paths and longer names are fine."""
    assert not HOMES.search(text)
