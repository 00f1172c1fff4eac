"""Entry points on disk: which are plugins, and what damaged metadata does."""

import re
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

from spaced.errors import PluginProblem
from spaced.plugin_host.finding import (
    FoundPlugin,
    installed_plugins,
    load_object,
    plugins_of,
)
from tests.unit.plugin_host.fake_plugins import found


def _install(folder: Path, name: str, entry_points: str, *, metadata: str | None = None) -> None:
    """Write what an installer leaves of a distribution."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    default = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: spaced>=0.1\n"
    (info / "METADATA").write_text(default if metadata is None else metadata)
    (info / "entry_points.txt").write_bytes(entry_points.encode("latin-1"))


def _find(*folders: Path) -> list[FoundPlugin]:
    return list(plugins_of(distributions(path=[str(folder) for folder in folders])))


def test_the_sqlite_plugin_arrives_through_its_entry_point() -> None:
    """First-party plugins use the same door as everybody."""
    sqlite = [plugin for plugin in installed_plugins() if plugin.name == "sqlite"]

    assert [(plugin.value, plugin.distribution) for plugin in sqlite] == [
        ("spaced_sqlite", "spaced")
    ]


def test_an_entry_point_is_described_without_importing_it(tmp_path: Path) -> None:
    """Name, value, distribution, version and the wish for a version of spaced come from metadata."""
    _install(tmp_path, "acme", "[spaced]\nacme = acme.plugin:thing\n")

    (plugin,) = _find(tmp_path)

    assert (plugin.name, plugin.value) == ("acme", "acme.plugin:thing")
    assert (plugin.distribution, plugin.version) == ("acme", "1.0")
    assert (plugin.wanted_spaced or "").startswith("spaced")


def test_other_groups_are_no_plugins(tmp_path: Path) -> None:
    """A distribution with commands or plugins of somebody else is not looked at."""
    _install(tmp_path, "acme", "[console_scripts]\nspaced = acme:main\n")

    assert not _find(tmp_path)


def test_the_first_of_two_copies_of_a_distribution_counts(tmp_path: Path) -> None:
    """An import finds the first one too; the spelling of the name does not matter."""
    _install(tmp_path / "first", "acme-plugin", "[spaced]\nacme = acme\n")
    _install(tmp_path / "second", "Acme_Plugin", "[spaced]\nacme = acme\n")

    (plugin,) = _find(tmp_path / "first", tmp_path / "second")

    assert plugin.distribution == "acme-plugin"


def test_a_malformed_entry_point_file_breaks_only_its_own_distribution(tmp_path: Path) -> None:
    """One damaged file must not hide the plugins of everybody else."""
    _install(tmp_path, "acme", "[spaced]\nacme = acme\n")
    _install(tmp_path, "damaged", "[spaced]\nno equals sign\n")

    plugins = {plugin.name: plugin for plugin in _find(tmp_path)}

    assert set(plugins) == {"acme", "damaged"}
    with pytest.raises(PluginProblem, match=r"the metadata of damaged in .* cannot be read"):
        plugins["damaged"].load()


def test_metadata_that_is_not_text_breaks_only_its_own_distribution(tmp_path: Path) -> None:
    """The bytes of a stranger's file can be anything."""
    _install(tmp_path, "damaged", "[spaced]\n\xff\xfe = acme\n")

    (plugin,) = _find(tmp_path)

    with pytest.raises(PluginProblem, match="the metadata of damaged"):
        plugin.load()


def test_a_damaged_distribution_without_a_name_is_reported_with_its_folder(tmp_path: Path) -> None:
    """Where it lies is all that can be said of it, and enough to remove it."""
    _install(tmp_path, "damaged", "[spaced]\nno equals sign\n")
    (tmp_path / "damaged-1.0.dist-info" / "METADATA").unlink()

    (plugin,) = _find(tmp_path)

    with pytest.raises(PluginProblem, match=re.escape(f"in {str(tmp_path)!r} cannot be read")):
        plugin.load()


def test_a_distribution_without_a_name_is_found_all_the_same(tmp_path: Path) -> None:
    """An interrupted uninstall leaves folders without a name behind."""
    _install(tmp_path, "acme", "[spaced]\nacme = acme\n", metadata="Metadata-Version: 2.1\n")

    (plugin,) = _find(tmp_path)

    assert (plugin.distribution, plugin.version, plugin.value) == ("(unnamed)", "", "acme")


def test_a_plugin_is_loaded_from_a_module_or_an_object_in_one() -> None:
    """Both forms of entry points work, with or without extras."""
    assert load_object("sys") is sys
    assert load_object("os.path : join [extra]") is load_object("os.path:join")
    assert load_object("sys:flags.optimize") == sys.flags.optimize


@pytest.mark.parametrize("value", ["acme_is_not_here", "acme_is_not_here.inner:thing"])
def test_an_entry_point_of_a_module_that_is_gone_is_explained(value: str) -> None:
    """Stale entry points remain when somebody deletes files by hand."""
    with pytest.raises(PluginProblem, match=r"names the module .*, which is not installed"):
        load_object(value)


def test_an_entry_point_of_a_missing_attribute_is_explained() -> None:
    """The sentence quotes the entry point and the name that is missing."""
    with pytest.raises(PluginProblem, match="'sys:teleport' names 'teleport', which is not there"):
        load_object("sys:teleport")


@pytest.mark.parametrize("value", ["", "a b", "a:", "a-b", "a:b:c"])
def test_an_entry_point_that_cannot_be_one_is_explained(value: str) -> None:
    """The metadata can hold any text."""
    with pytest.raises(PluginProblem, match="neither 'module' nor 'module:name'"):
        load_object(value)


def test_a_missing_module_inside_the_plugin_is_the_plugins_own_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing requirement is not reported as a stale entry point."""
    (tmp_path / "acme_needs_more.py").write_text("import acme_is_not_here\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ModuleNotFoundError, match="acme_is_not_here"):
        load_object("acme_needs_more")


def test_the_origin_is_the_file_that_an_import_would_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that shadows another one shows itself, and nothing is imported to find out."""
    (tmp_path / "acme_origin.py").write_text("raise AssertionError\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert found("acme", value="acme_origin:thing").origin == str(tmp_path / "acme_origin.py")
    assert "acme_origin" not in sys.modules


def test_the_origin_of_a_namespace_package_is_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package without an `__init__.py` has no file of its own."""
    (tmp_path / "acme_space").mkdir()
    monkeypatch.syspath_prepend(tmp_path)

    assert found("acme", value="acme_space.plugin").origin == str(tmp_path / "acme_space")


@pytest.mark.parametrize("value", ["acme_is_not_here", ":", "__main__x"])
def test_what_is_not_there_has_no_origin(value: str) -> None:
    """A stale or malformed entry point lies nowhere."""
    assert found("acme", value=value).origin is None
