"""What `pyproject.toml`, the import contracts, the Makefile and the documents say is true."""

import re
from collections.abc import Iterable

from tests.architecture.repository import (
    ROOT,
    contract,
    files,
    modules_of_spaced,
    plugin_folders,
    project,
)

OPEN_TO_PLUGINS = {"plugin_api", "client"}


def _distributions(requirements: Iterable[str]) -> set[str]:
    return {
        re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower() for requirement in requirements
    }


def _layers() -> set[str]:
    named = " | ".join(contract("Imports go downward only")["layers"])
    return {layer.strip("()") for layer in named.split(" | ")}


def test_every_plugin_folder_is_declared_and_shipped() -> None:
    """A plugin that is not an entry point is never found; one that is not shipped is stale.

    After adding one, install the checkout again: entry points are fixed at installation.
    """
    declared = project()["project"]["entry-points"]["spaced"].values()
    shipped = project()["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]

    assert plugin_folders() == {re.split(r"[.:]", value)[0] for value in declared}
    assert {f"plugins/{folder}" for folder in plugin_folders()} == set(shipped) - {"spaced"}


def test_every_plugin_is_type_checked_and_under_the_import_contracts() -> None:
    """A plugin outside of both would be free to import anything."""
    tools = project()["tool"]

    assert plugin_folders() <= set(tools["mypy"]["packages"])
    assert plugin_folders() | {"spaced"} == set(tools["importlinter"]["root_packages"])
    assert plugin_folders() == set(contract("Plugins see only the plugin API")["source_modules"])


def test_every_module_of_spaced_has_its_layer() -> None:
    """`lint-imports` is exhaustive: a new module without a layer fails there, and here."""
    layers = contract("Imports go downward only")

    assert layers["exhaustive"] is True
    assert layers["containers"] == ["spaced"]
    assert modules_of_spaced() <= _layers() | set(layers["exhaustive_ignores"])


def test_a_layer_that_must_exist_exists() -> None:
    """Parentheses mark layers to come; the others are there."""
    named = " | ".join(contract("Imports go downward only")["layers"]).split(" | ")

    assert {layer for layer in named if not layer.startswith("(")} <= modules_of_spaced()


def test_plugins_are_kept_out_of_every_other_module() -> None:
    """The contract lists what is forbidden, so a new module has to be added to it."""
    forbidden = set(contract("Plugins see only the plugin API")["forbidden_modules"])
    private = modules_of_spaced() - OPEN_TO_PLUGINS - {"__main__"}

    assert {f"spaced.{module}" for module in private} <= forbidden


def test_every_shipped_module_is_kept_from_the_testing_package() -> None:
    """The contract lists who must not import it, so a new module has to be added to it."""
    sources = set(contract("Nothing shipped imports the testing package")["source_modules"])
    shipped = {f"spaced.{module}" for module in modules_of_spaced() - {"testing", "__main__"}}

    assert shipped | plugin_folders() <= sources


def test_every_dependency_is_documented_with_its_reason() -> None:
    """Each one is a decision; the page and the settings name the same ones."""
    settings = project()
    needed = _distributions(settings["project"]["dependencies"])
    for extra in settings["project"]["optional-dependencies"].values():
        needed |= _distributions(extra)
    page = (ROOT / "docs" / "dependencies.md").read_text()
    named = {name.lower() for name in re.findall(r"^\|\s*`([^`]+)`\s*\|", page, flags=re.MULTILINE)}

    assert needed <= named
    assert named <= needed | _distributions(settings["build-system"]["requires"])


def test_the_makefile_has_the_agreed_targets() -> None:
    """These six work on a fresh machine; people and services rely on the names."""
    rules = re.findall(r"^([a-z][a-z ]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    targets = {target for rule in rules for target in rule.split()}

    assert {"demo", "run", "test", "lint", "bench", "wheel"} <= targets


def test_the_reading_order_of_the_readme_names_files_that_exist() -> None:
    """A newcomer follows it from file to file."""
    readme = (ROOT / "README.md").read_text()
    _, heading, rest = readme.partition("## Reading order")
    assert heading, "README.md has no section '## Reading order'"
    paths = re.findall(r"`([\w./-]+/[\w./-]*)`", rest.partition("\n## ")[0])

    assert paths, "the reading order names no file"
    missing = [path for path in paths if not (ROOT / path).exists()]
    assert not missing, f"the README sends its reader to files that are not there: {missing}"


def test_the_source_distribution_takes_every_folder_of_the_repository() -> None:
    """The wheel is built from it, so a folder that it lacks is lacking for everybody."""
    included = set(project()["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    folders = {f"/{path.parts[0]}" for path in files() if len(path.parts) > 1}

    assert {folder for folder in folders if not folder.startswith("/.git")} <= included
