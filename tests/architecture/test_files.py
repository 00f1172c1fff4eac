"""Where files lie, what they are called and how long they may get."""

from tests.architecture.repository import ROOT, files, python_files

LIMIT = 400
AGREED = {
    "pyproject.toml",
    "README.md",
    "spaced",
    "plugins",
    "schemas",
    "workflows",
    "tests",
    "packaging",
    "docs",
    "Makefile",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "constraints.txt",
    ".ci",
    ".editorconfig",
}
SAYS_NOTHING = {
    "util",
    "utils",
    "helper",
    "helpers",
    "common",
    "core",
    "base",
    "misc",
    "manager",
    "managers",
    "handler",
    "handlers",
}


def test_no_file_outgrows_its_reader() -> None:
    """A file that needs more lines does more than one thing."""
    lengths = {
        str(path): len((ROOT / path).read_text().splitlines())
        for path in python_files("spaced", "plugins")
    }
    too_long = {path: lines for path, lines in lengths.items() if lines >= LIMIT}

    assert not too_long, f"split these by responsibility, not by length: {too_long}"


def test_the_top_level_holds_only_agreed_names() -> None:
    """Whoever opens the repository sees its parts and nothing else."""
    tops = {path.parts[0] for path in files()}
    strange = {top for top in tops - AGREED if not top.startswith(".git")}

    assert not strange, f"move these into one of the agreed folders: {sorted(strange)}"


def test_packaging_and_plugins_are_folders_and_no_packages() -> None:
    """As packages they would hide the library `packaging`, or take a name that is everybody's."""
    for folder in ("packaging", "plugins"):
        assert not (ROOT / folder / "__init__.py").exists()


def test_package_files_of_spaced_are_empty() -> None:
    """An import of a module costs that module; only the root knows the version."""
    inits = [path for path in python_files("spaced") if path.name == "__init__.py"]
    filled = [str(path) for path in inits if (ROOT / path).read_text() and len(path.parts) > 2]

    assert not filled, f"move the content of these into modules: {filled}"


def test_every_package_folder_of_spaced_has_its_package_file() -> None:
    """A forgotten one works in a checkout and is invisible to the import contracts."""
    folders = {path.parent for path in python_files("spaced")}
    missing = [str(folder) for folder in folders if not (ROOT / folder / "__init__.py").is_file()]

    assert not missing


def test_names_say_what_is_inside() -> None:
    """A name that fits everything tells nobody where to look."""
    vague = {
        str(path)
        for path in python_files("spaced", "plugins", "tests")
        if SAYS_NOTHING & {path.stem, *path.parent.parts}
    }

    assert not vague, f"name these after what they do: {sorted(vague)}"
