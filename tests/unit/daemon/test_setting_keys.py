"""The table of settings agrees with itself and with what is made from it."""

from collections.abc import Iterator
from dataclasses import fields

import pytest

from spaced.daemon.setting_keys import KEYS, OTHER_VARIABLES, SettingKey, key_at
from spaced.daemon.setting_types import Place
from spaced.daemon.settings import Settings
from spaced.plugin_host.loading import DEFAULT_TIME_LIMIT
from spaced.runtime.processes import marker
from tests.unit.daemon.settings_loading import load

SINGLE = [key for key in KEYS if not key.is_family]


def _ids(keys: list[SettingKey]) -> Iterator[str]:
    return (key.name for key in keys)


def test_the_table_and_the_class_name_the_same_settings() -> None:
    """A key without an attribute would be read and lost."""
    families = {key.path[0] for key in KEYS if key.is_family}

    assert {key.attribute for key in SINGLE} | families == {
        field.name for field in fields(Settings)
    }


def test_no_two_settings_share_a_name_a_variable_or_a_flag() -> None:
    """Dots and underscores become the same sign in a variable."""
    for names in (
        [key.name for key in KEYS],
        [key.variable for key in SINGLE],
        [key.flag for key in KEYS if key.flag],
    ):
        assert len(set(names)) == len(names)


def test_no_setting_is_said_by_a_variable_that_has_another_meaning() -> None:
    """What agents get in their environment must not configure a daemon that they start."""
    assert not {key.variable for key in SINGLE} & OTHER_VARIABLES.keys()


def test_what_agents_are_given_is_no_mistake() -> None:
    """The command line works inside of an agent's session too."""
    given = ["SPACED_SESSION_ID", "SPACED_RUN_ID", marker.VARIABLE]

    assert load(dict.fromkeys(given, "x")) == load()


@pytest.mark.parametrize("key", SINGLE, ids=_ids(SINGLE))
def test_every_default_is_a_value_of_its_type(key: SettingKey) -> None:
    """What the list shows as a default can be written into a file."""
    value = getattr(load(), key.attribute)

    assert key.type.read(key.type.show(value)) == value


@pytest.mark.parametrize("key", KEYS, ids=_ids(list(KEYS)))
def test_every_setting_can_be_documented(key: SettingKey) -> None:
    """A reader learns what it is for and what it is if nobody says it."""
    assert key.description
    assert not key.description.endswith(".")
    assert key.default is not None or key.default_text
    assert key.default is None or not isinstance(key.type, Place)


def test_a_choice_of_a_plugin_comes_before_the_options() -> None:
    """`plugin` is never passed on as an option."""
    found = key_at(("runtimes", "acp", "plugin"))

    assert found is not None
    assert found.name == "runtimes.<name>.plugin"


def test_plugins_have_as_much_time_as_the_host_gives_them() -> None:
    """The default is said in two places and is one."""
    assert load().plugins_time_limit_ms == DEFAULT_TIME_LIMIT * 1000
