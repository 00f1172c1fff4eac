"""The flags of a command that runs the daemon: those of the table of settings."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from spaced.cli.reach import Reach

_F = TypeVar("_F", bound=Callable[..., Any])


def daemon_options(command: _F) -> _F:
    """Give a command every flag that the settings know, and the argument `reach`."""
    from spaced.daemon.setting_keys import KEYS
    from spaced.daemon.setting_types import Switch

    @functools.wraps(command)
    def reached(**values: Any) -> Any:
        names = {key.attribute: key.name for key in KEYS}
        flags = {names[name]: value for name, value in values.items()}
        return command(reach=Reach(), **flags)

    made: Any = reached
    for key in reversed(KEYS):
        if key.flag is None:
            continue
        is_switch = isinstance(key.type, Switch)
        flag = f"{key.flag}/--no-{key.flag[2:]}" if is_switch else key.flag
        made = click.option(
            flag,
            key.attribute,
            default=None,
            help=f"{key.description} [{key.default_text}]" if key.default_text else key.description,
        )(made)
    return made  # type: ignore[no-any-return]
