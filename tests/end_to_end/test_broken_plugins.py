"""Broken plugins, built as wheels and installed by pip: the host comes up and explains each one.

All of them live in one environment at the same time. The reports come from fresh processes, as the
daemon would see them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end import plugin_packages
from tests.end_to_end.wheels import build_wheel, install, make_environment, run

TIME_LIMIT = 3.0
OURS = ("acp", "command", "opencode", "scripted")
"""The runtimes that come with spaced."""

REPORT = Path(__file__).with_name("host_report.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a host said of itself."""

    plugins: Mapping[str, Mapping[str, Any]]
    problems: list[str]
    runtimes: list[str]
    storages: list[str]
    used: list[str]
    refusals: Mapping[str, str]


def _start(python: Path, **choices: str) -> Report:
    command = [str(python), "-I", str(REPORT), str(TIME_LIMIT), json.dumps(choices)]
    told = json.loads(run(command, folder=python.parent))
    inventory = told["inventory"]
    return Report(
        plugins={plugin["distribution"]: plugin for plugin in inventory["plugins"]},
        problems=inventory["problems"],
        runtimes=told["runtimes"],
        storages=told["storages"],
        used=told["used"],
        refusals=told["refusals"],
    )


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with one good plugin and every kind of broken one."""
    folder = tmp_path_factory.mktemp("broken")
    environment = make_environment(folder / "environment")
    install(environment, [build_wheel(package, folder) for package in plugin_packages.ALL])
    return environment


@pytest.fixture(scope="module")
def report(python: Path) -> Report:
    """The first start, with all plugins as their authors published them."""
    return _start(python)


def test_good_plugins_work_beside_every_kind_of_broken_one(report: Report) -> None:
    """First-party and third-party plugins are usable; nothing of a broken one is."""
    assert report.plugins["spaced"]["state"] == "loaded"
    assert report.plugins["acme-good"]["state"] == "loaded"
    assert report.storages == ["sqlite"]
    assert report.runtimes == ["acme", *OURS]
    assert report.used == ["storage sqlite", "runtime acme", "runtime scripted"]


def test_every_installed_plugin_is_listed(report: Report) -> None:
    """No plugin vanishes without a word, whatever is wrong with it."""
    installed = {package.name for package in plugin_packages.ALL}

    assert set(report.plugins) == installed | {"spaced"}


@pytest.mark.parametrize(
    ("distribution", "reason"),
    [
        ("acme-import", "its import raised RuntimeError: the stars are not right"),
        ("acme-exit", "its import called sys.exit('goodbye')"),
        (
            "acme-signature",
            "its hook spaced_register_runtimes asks for 'registry'; spaced passes only 'register'",
        ),
        (
            "acme-misspelt",
            (
                "it implements 'spaced_register_runtime', which is no hook of spaced;"
                " did you mean 'spaced_register_runtimes'?"
            ),
        ),
        (
            "acme-half",
            "its hook spaced_register_runtimes raised LookupError: the second half is missing",
        ),
        ("acme-hang", f"its import took longer than {TIME_LIMIT:g} s"),
        (
            "acme-stale",
            "its entry point names the module 'acme_gone.plugin', which is not installed",
        ),
        (
            "acme-attribute",
            "its entry point 'acme_attribute:plugin' names 'plugin', which is not there",
        ),
        (
            "acme-async",
            (
                "its hook spaced_register_runtimes is asynchronous or a generator, so it never ran;"
                " hooks are plain functions that return when their work is done"
            ),
        ),
    ],
)
def test_a_broken_plugin_is_explained_in_one_sentence(
    report: Report, distribution: str, reason: str
) -> None:
    """The reason says what to repair, and the traceback says where."""
    plugin = report.plugins[distribution]

    assert (plugin["state"], plugin["reason"]) == ("broken", reason)
    assert plugin["traceback"]


def test_a_plugin_for_a_newer_spaced_quotes_its_requirement(report: Report) -> None:
    """The sentence names what is missing and which version the plugin wants."""
    reason = report.plugins["acme-new"]["reason"]

    assert "wants what this version of spaced does not have" in reason
    assert "'Teleport'" in reason
    assert reason.endswith("it requires 'spaced>=0.1'")


def test_a_plugin_that_broke_half_way_leaves_nothing_behind(report: Report) -> None:
    """What it had registered is listed as withdrawn, and asking for it tells why."""
    assert report.plugins["acme-half"]["withdrawn"] == ["runtime half"]
    assert report.refusals["half"] == (
        "runtime 'half' belongs to plugin 'acme-half' of 'acme-half', which is broken:"
        " its hook spaced_register_runtimes raised LookupError: the second half is missing"
    )


@pytest.mark.parametrize("distribution", ["acme-twin-one", "acme-twin-two"])
def test_two_distributions_with_one_plugin_name_are_both_explained(
    report: Report, distribution: str
) -> None:
    """Neither is loaded over the other, and both sentences name both."""
    plugin = report.plugins[distribution]

    assert plugin["state"] == "broken"
    assert "acme-twin-one" in plugin["reason"]
    assert "acme-twin-two" in plugin["reason"]


def test_a_runtime_name_of_two_plugins_belongs_to_neither(report: Report) -> None:
    """Both plugins are loaded; the name waits for a setting to choose."""
    sentence = (
        "runtime 'contested' is offered by both 'acme-rival-one' and 'acme-rival-two';"
        " set runtimes.contested.plugin to choose one"
    )

    assert report.plugins["acme-rival-one"]["state"] == "loaded"
    assert report.problems == [sentence]
    assert report.refusals["contested"].startswith(f"{sentence}; broken plugins:")


def test_a_plugin_shows_the_file_that_it_comes_from(report: Report, python: Path) -> None:
    """A module that shadows a plugin would show here, also when its import fails."""
    for distribution in ("acme-good", "acme-import"):
        origin = Path(report.plugins[distribution]["origin"])
        assert origin.is_relative_to(python.parents[1])
        assert origin.name == f"{distribution.replace('-', '_')}.py"


def test_a_fixed_version_and_a_choice_work_on_the_next_start(
    report: Report, python: Path, tmp_path: Path
) -> None:
    """Nothing of a failure is remembered: install, start, done."""
    assert report.plugins["acme-import"]["state"] == "broken"
    install(python, [build_wheel(plugin_packages.FIXED_IMPORT, tmp_path)])

    fixed = _start(python, **{"runtimes.contested.plugin": "acme-rival-two"})

    plugin = fixed.plugins["acme-import"]
    assert (plugin["state"], plugin["version"]) == ("loaded", "1.1")
    assert fixed.runtimes == sorted(["acme", "contested", *OURS, "stars"])
