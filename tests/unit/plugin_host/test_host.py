"""Which plugins are loaded, in which order, and what asking for their offers answers."""

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import asdict

import pytest

from spaced.errors import PluginProblem
from spaced.plugin_host.finding import FoundPlugin
from spaced.plugin_host.host import PluginHost, load_plugins
from tests.unit.plugin_host.fake_plugins import (
    fake_runtime,
    found,
    module_with,
    offering_runtimes,
    offering_storages,
)


def _host(*plugins: FoundPlugin) -> PluginHost:
    return load_plugins(finder=lambda: plugins)


def _failing(error: BaseException) -> Callable[[], object]:
    def load() -> object:
        raise error

    return load


def _states(host: PluginHost) -> dict[str, str]:
    return {plugin.distribution: plugin.state for plugin in host.inventory.plugins}


def test_what_plugins_offer_is_found_by_name() -> None:
    """A host gives back the very factories that the plugins registered."""
    host = _host(found("acme", offering_runtimes("acme")), found("disk", offering_storages("disk")))

    assert host.runtime("acme") is fake_runtime
    assert host.storage("disk") is host.storages["disk"]
    assert set(host.runtimes) == {"acme"}


def test_the_inventory_tells_where_a_plugin_comes_from_and_what_it_offers() -> None:
    """Distribution, version, entry point, hooks and names are what `spaced plugins` shows."""
    host = _host(found("acme", offering_runtimes("acme", "acme-two")))

    (facts,) = host.inventory.plugins
    assert (facts.distribution, facts.version, facts.entry_point) == ("spaced-acme", "1.0", "acme")
    assert facts.hooks == ("spaced_register_runtimes",)
    assert facts.runtimes == ("acme", "acme-two")
    assert (facts.state, facts.storages, facts.reason) == ("loaded", (), "")


def test_the_inventory_can_be_written_as_json() -> None:
    """The API and `--json` need nothing but the plain fields."""
    host = _host(found("acme", offering_runtimes("acme")), found("bad", module_with()))

    assert json.loads(json.dumps(asdict(host.inventory)))["plugins"][1]["state"] == "broken"


def test_plugins_are_loaded_by_name_and_not_in_the_order_they_are_found() -> None:
    """The order is the same on every machine, whatever the file system says."""
    order: list[str] = []

    def recording(name: str) -> FoundPlugin:
        def load() -> object:
            order.append(name)
            return offering_runtimes(name)

        return found(name, load=load)

    _host(recording("zebra"), recording("apple"), recording("melon"))

    assert order == ["apple", "melon", "zebra"]


def test_a_broken_plugin_stops_no_other_one() -> None:
    """Plugins before and behind a broken one load as if it were not there."""
    host = _host(
        found("a", offering_runtimes("a")),
        found("b", load=_failing(RuntimeError("no"))),
        found("c", offering_runtimes("c")),
    )

    assert set(host.runtimes) == {"a", "c"}
    assert [plugin.name for plugin in host.inventory.broken] == ["b"]


def test_a_broken_plugin_is_logged_once_with_its_distribution(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An operator who only reads the log learns of it."""
    with caplog.at_level(logging.WARNING):
        _host(found("b", load=_failing(RuntimeError("no"))))

    (record,) = caplog.records
    assert vars(record)["event"] == "plugin-problem"
    assert "'spaced-b'" in record.getMessage()


def test_only_plugins_of_the_allow_list_are_imported() -> None:
    """A plugin that the settings do not name runs no code at all."""
    host = load_plugins(
        finder=lambda: [
            found("a", offering_runtimes("a")),
            found("b", load=_failing(AssertionError("imported"))),
        ],
        allow=["a"],
    )

    assert _states(host) == {"spaced-a": "loaded", "spaced-b": "blocked"}


def test_an_empty_allow_list_allows_nothing() -> None:
    """An empty list is not the same as no list."""
    host = load_plugins(finder=lambda: [found("a", offering_runtimes("a"))], allow=[])

    assert _states(host) == {"spaced-a": "blocked"}


def test_a_blocked_plugin_is_listed_and_never_imported() -> None:
    """The block list wins over the allow list, and the plugin stays visible."""
    host = load_plugins(
        finder=lambda: [found("b", load=_failing(AssertionError("imported")))],
        allow=["b"],
        block=["b"],
    )

    (facts,) = host.inventory.plugins
    assert (facts.state, facts.reason) == ("blocked", "the settings block it")


def test_an_allowed_plugin_that_is_not_installed_is_named() -> None:
    """A typing error in the allow list would otherwise only show as something missing."""
    host = load_plugins(finder=list, allow=["acmee"])

    assert host.inventory.problems == ("the settings allow plugin 'acmee', which is not installed",)


def test_two_distributions_with_one_plugin_name_are_both_set_aside() -> None:
    """Neither is loaded over the other, and each entry names both."""
    host = _host(
        found("acme", offering_runtimes("one"), distribution="acme-one", value="one"),
        found("acme", offering_runtimes("two"), distribution="acme-two", value="two"),
    )

    assert _states(host) == {"acme-one": "broken", "acme-two": "broken"}
    assert not host.runtimes
    for plugin in host.inventory.plugins:
        assert "'acme-one (one)' and 'acme-two (two)'" in plugin.reason


def test_blocking_one_of_two_namesakes_lets_the_other_one_in() -> None:
    """A name may be followed by the distribution that is meant."""
    host = load_plugins(
        finder=lambda: [
            found("acme", offering_runtimes("one"), distribution="acme-one", value="one"),
            found("acme", offering_runtimes("two"), distribution="acme-two", value="two"),
        ],
        block=["acme@acme-one"],
    )

    assert _states(host) == {"acme-one": "blocked", "acme-two": "loaded"}
    assert set(host.runtimes) == {"two"}


def test_strict_loading_names_every_broken_plugin() -> None:
    """A plugin author's continuous integration sees all of them at once."""
    plugins = [found(name, load=_failing(RuntimeError(name))) for name in ("a", "b")]

    with pytest.raises(PluginProblem, match=r"'a' of 'spaced-a'.*'b' of 'spaced-b'"):
        load_plugins(finder=lambda: plugins, strict=True)


def test_strict_loading_refuses_a_contested_name() -> None:
    """A name that no plugin gets is as bad as a broken plugin."""
    plugins = [found("a", offering_runtimes("acp")), found("b", offering_runtimes("acp"))]

    with pytest.raises(PluginProblem, match=r"set runtimes\.acp\.plugin"):
        load_plugins(finder=lambda: plugins, strict=True)


def test_strict_loading_accepts_healthy_and_blocked_plugins() -> None:
    """Blocking is a decision of the user and no defect."""
    plugins = [found("a", offering_runtimes("a")), found("b", load=_failing(RuntimeError()))]

    host = load_plugins(finder=lambda: plugins, block=["b"], strict=True)

    assert set(host.runtimes) == {"a"}


def test_an_unknown_storage_is_refused_with_the_known_ones() -> None:
    """A typing error in a setting shows what could have been meant."""
    host = _host(found("disk", offering_storages("disk", "tape")))

    with pytest.raises(PluginProblem) as caught:
        host.storage("disc")

    assert caught.value.message == "there is no storage 'disc'; known ones are 'disk' and 'tape'"


def test_an_unknown_storage_mentions_broken_plugins_that_may_have_offered_it() -> None:
    """Nobody knows what a plugin would have offered that did not even import."""
    host = _host(found("attic", load=_failing(RuntimeError("no"))))

    with pytest.raises(PluginProblem, match=r"none is known; broken plugins: 'attic'"):
        host.storage("disk")


@pytest.mark.parametrize("name", ["half", "attic"])
def test_a_storage_of_a_broken_plugin_is_refused_with_the_reason(name: str) -> None:
    """It belongs to the plugin that had registered it, or to the one of the same name."""
    plugin = offering_storages("half", "half")
    host = _host(found("attic", plugin))

    with pytest.raises(PluginProblem, match=r"plugin 'attic' of 'spaced-attic', which is broken:"):
        host.storage(name)


def test_a_storage_of_a_blocked_plugin_says_that_it_is_blocked() -> None:
    """The remedy is in the settings and not in the plugin."""
    host = load_plugins(finder=lambda: [found("disk", offering_storages("disk"))], block=["disk"])

    with pytest.raises(PluginProblem, match="which is blocked: the settings block it"):
        host.storage("disk")


def test_a_contested_storage_is_refused_with_the_setting_that_chooses() -> None:
    """Nothing is guessed; the remedy names the setting."""
    host = _host(found("a", offering_storages("disk")), found("b", offering_storages("disk")))

    with pytest.raises(PluginProblem, match="offered by both 'a' and 'b'") as caught:
        host.storage("disk")

    assert "storages.disk.plugin" in caught.value.remedy


def test_a_choice_gives_a_contested_name_to_one_plugin() -> None:
    """The other plugin stays loaded with its other names."""
    host = load_plugins(
        finder=lambda: [
            found("a", offering_runtimes("acp")),
            found("b", offering_runtimes("acp", "more")),
        ],
        choices={"runtimes.acp.plugin": "a"},
    )

    assert host.runtimes.offers["acp"].owner == "a"
    assert set(host.runtimes) == {"acp", "more"}
    assert host.inventory.problems == ()


def test_a_choice_of_a_broken_plugin_is_kept_and_explained() -> None:
    """The other plugin that offers the name never takes the place unasked."""
    host = load_plugins(
        finder=lambda: [
            found("a", load=_failing(RuntimeError("no"))),
            found("b", offering_runtimes("acp")),
        ],
        choices={"runtimes.acp.plugin": "a"},
    )

    with pytest.raises(PluginProblem) as caught:
        host.runtime("acp")

    assert caught.value.message == (
        "runtimes.acp.plugin chooses 'a', which offers no runtime 'acp';"
        " it is offered by 'b'; broken plugins: 'a'"
    )


def test_a_plugin_that_hangs_is_set_aside_and_registers_nothing_later() -> None:
    """The thread that is left behind goes on after the host is up, and changes nothing."""
    release, registered = threading.Event(), threading.Event()

    def load() -> object:
        release.wait()
        return _announcing(registered)

    plugins = [found("slow", load=load), found("swift", offering_runtimes("swift"))]
    host = load_plugins(finder=lambda: plugins, time_limit=0.05)
    release.set()

    assert registered.wait(10)
    assert set(host.runtimes) == {"swift"}
    (slow,) = host.inventory.broken
    assert slow.reason == "its import took longer than 0.05 s"
    assert "release.wait()" in slow.traceback


def _announcing(registered: threading.Event) -> object:
    plugin = offering_runtimes("slow")
    inner = plugin.spaced_register_runtimes

    def spaced_register_runtimes(register: Callable[..., None]) -> None:
        inner(register)
        registered.set()

    vars(spaced_register_runtimes).update(vars(inner))
    return module_with(spaced_register_runtimes=spaced_register_runtimes)
