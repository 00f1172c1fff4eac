"""What a profile's options mean here.

| option | default | meaning |
| --- | --- | --- |
| `url` | none | where the server listens, as `http://host:port`; or there is a command |
| `password_variable` | none | the name of the variable with the server's password; never itself |
| `agent` | none | the OpenCode agent that answers, where the profile has no mode |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from spaced.plugin_api import Profile
from spaced_opencode.problems import BadOptions

_KNOWN: Final = frozenset({"url", "password_variable", "agent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCodeOptions:
    """A profile's options.

    Attributes:
        url: without a slash at its end; `None` starts the profile's command.
        agent: the agent's name; empty leaves the choice to the server.
    """

    url: str | None
    password_variable: str | None
    agent: str


def read_options(profile: Profile) -> OpenCodeOptions:
    """Return the options of a profile.

    Raises:
        BadOptions: one of them is unknown or has no fitting value, or it is not said where the
            server is.
    """
    options = profile.options or {}
    for name, value in options.items():
        if name not in _KNOWN:
            raise BadOptions(f"the runtime `opencode` has no option {name!r}")
        if value is not None and (not isinstance(value, str) or not value):
            raise BadOptions(f"the option {name!r} of an OpenCode profile is a text")
    url = options.get("url")
    if url is None and not profile.command:
        raise BadOptions(
            f"the profile {profile.name!r} has neither the option `url` of an OpenCode server nor a"
            " command that starts one"
        )
    return OpenCodeOptions(
        url=None if url is None else _checked_url(str(url)),
        password_variable=_text(options, "password_variable"),
        agent=profile.mode or _text(options, "agent") or "",
    )


def password_of(options: OpenCodeOptions, environment: Mapping[str, str]) -> str | None:
    """Return the server's password.

    Raises:
        BadOptions: the variable that should hold it is not there.
    """
    name = options.password_variable
    if name is None:
        return None
    if not environment.get(name):
        raise BadOptions(
            f"the variable {name} that should hold the OpenCode server's password is empty or not"
            " let through by the profile",
            remedy=f"Set {name} where the daemon is started, and add it to the profile's"
            " environment.",
        )
    return environment[name]


def _text(options: Mapping[str, object], name: str) -> str | None:
    value = options.get(name)
    return value if isinstance(value, str) else None


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    try:
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or parts.query or parts.fragment:
        raise BadOptions("the option 'url' of an OpenCode profile reads as http://host:port")
    if parts.username or parts.password:
        raise BadOptions(
            "the option 'url' of an OpenCode profile holds a password",
            remedy="Name a variable that holds it in the option `password_variable` instead.",
        )
    return url.rstrip("/")
