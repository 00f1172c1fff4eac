"""Who gets a name that several plugins want, and what is said about it."""

import pytest

from spaced.errors import PluginProblem
from spaced.plugin_host.registration import Offer
from spaced.plugin_host.registry import Registry, check_choices


def _offers(*pairs: tuple[str, str]) -> list[Offer[object]]:
    return [
        Offer(name=name, owner=owner, factory=f"{name} of {owner}", summary="")
        for name, owner in pairs
    ]


def test_a_name_with_one_offer_needs_no_choice() -> None:
    """Nothing has to be set for what is clear."""
    registry = Registry("runtime", _offers(("acp", "acp")), {})

    assert dict(registry) == {"acp": "acp of acp"}
    assert not registry.conflicts


def test_a_contested_name_belongs_to_nobody_and_says_what_to_set() -> None:
    """The order of loading never decides who provides a name."""
    registry = Registry("runtime", _offers(("acp", "acp"), ("acp", "acme-acp")), {})

    assert "acp" not in registry
    assert registry.conflicts == {
        "acp": "runtime 'acp' is offered by both 'acp' and 'acme-acp';"
        " set runtimes.acp.plugin to choose one"
    }


def test_three_offers_are_listed_as_three() -> None:
    """The sentence stays English with any number of plugins."""
    registry = Registry("storage", _offers(("disk", "a"), ("disk", "b"), ("disk", "c")), {})

    assert registry.conflicts["disk"].startswith("storage 'disk' is offered by 'a', 'b' and 'c';")


def test_a_choice_settles_a_contested_name() -> None:
    """The setting names the plugin whose factory is used."""
    offers = _offers(("acp", "acp"), ("acp", "acme-acp"))
    registry = Registry("runtime", offers, {"runtimes.acp.plugin": "acme-acp"})

    assert registry["acp"] == "acp of acme-acp"
    assert not registry.conflicts


def test_a_choice_of_a_plugin_that_does_not_offer_the_name_is_not_replaced_by_a_guess() -> None:
    """Whoever chose a plugin must not silently get another one."""
    registry = Registry("runtime", _offers(("acp", "acp")), {"runtimes.acp.plugin": "acme-acp"})

    assert not registry
    assert registry.conflicts == {
        "acp": "runtimes.acp.plugin chooses 'acme-acp', which offers no runtime 'acp';"
        " it is offered by 'acp'"
    }


def test_a_choice_for_a_name_that_nobody_offers_is_reported() -> None:
    """A setting without effect is a mistake that somebody wants to know of."""
    registry = Registry("storage", _offers(), {"storages.disk.plugin": "acme"})

    assert registry.conflicts["disk"].endswith("no plugin offers it")


def test_choices_of_another_kind_do_not_matter() -> None:
    """A runtime and a storage may have the same name."""
    registry = Registry("storage", _offers(("acp", "acp")), {"runtimes.acp.plugin": "acme"})

    assert set(registry) == {"acp"}


@pytest.mark.parametrize("setting", ["runtime.acp.plugin", "runtimes.acp", "plugin", ""])
def test_a_choice_that_is_written_otherwise_is_refused(setting: str) -> None:
    """A misspelt setting would choose nothing and say nothing."""
    with pytest.raises(PluginProblem, match="chooses no plugin"):
        check_choices({setting: "acme", "runtimes.acp.plugin": "acme"})
