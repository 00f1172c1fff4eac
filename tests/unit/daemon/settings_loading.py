"""Loads settings from a few lines of TOML, variables and flags, as the tests need them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from spaced.daemon.settings import LoadedSettings, Settings, load_settings
from spaced.refusals import InvalidSettings


def load_file(
    folder: Path,
    toml: str,
    *,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> LoadedSettings:
    """Load what a settings file in a folder says, and what else there is."""
    path = folder / "config.toml"
    path.write_text(toml)
    return load_settings(environment=environment or {}, flags=flags or {}, config_file=path)


def load(
    environment: Mapping[str, str] | None = None, flags: Mapping[str, object] | None = None
) -> Settings:
    """Return the settings of variables and flags, without a file."""
    return load_settings(environment=environment or {}, flags=flags or {}).settings


def refusal_of(folder: Path, toml: str) -> str:
    """Return why a settings file is refused, with its path as `config.toml`."""
    with pytest.raises(InvalidSettings) as refused:
        load_file(folder, toml)
    return refused.value.message.replace(str(folder / "config.toml"), "config.toml")


def refusal_of_variable(variable: str, text: str) -> str:
    """Return why a variable is refused."""
    with pytest.raises(InvalidSettings) as refused:
        load({variable: text})
    return refused.value.message
