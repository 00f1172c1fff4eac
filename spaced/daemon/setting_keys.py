"""Every setting there is: its name, type, default, meaning, and how a flag or a variable says it.

Reading, `spaced config`, the documentation and the names of the variables all follow from `KEYS`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from spaced.daemon.setting_types import (
    Anything,
    Choice,
    Duration,
    Place,
    SettingType,
    Switch,
    Tables,
    Text,
    Texts,
    WholeNumber,
)

PREFIX: Final = "SPACED_"
CONFIG_VARIABLE: Final = "SPACED_CONFIG"
OTHER_VARIABLES: Final = {
    CONFIG_VARIABLE: "the settings file to read instead of the default one",
    "SPACED_MARKER": "set for agents: by it the daemon finds every process that one started",
    "SPACED_RUN_ID": "set for agents: the run that the agent works for",
    "SPACED_SESSION_ID": "set for agents: the session that the agent serves",
}
"""Variables of our own that are no settings."""

_WORDS: Final = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"
_HOST: Final = r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
_ORIGIN: Final = r"[a-z][a-z0-9+.-]*://[^/\s*?#@]+"
_PLUGIN: Final = r"[^\s@*]+(@[^\s@*]+)?"
_VARIABLE: Final = r"\*|[^\s=*\0]+"
_ANY_NAME: Final = re.compile(_WORDS)
_ANY_OPTION: Final = re.compile(r".+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingKey:
    """One setting, or a family of them.

    Attributes:
        name: its place in the file, with dots; `<name>` and `<option>` stand for any.
        default: a value of the type; `None` where it depends on the machine.
        default_text: how to say such a default in words.
        description: what it is for, as the rest of a line.
        secret: its value is never shown.
        flag: how the command line says it; a switch has a `no-` form too.
    """

    name: str
    type: SettingType
    default: object = None
    default_text: str = ""
    description: str
    secret: bool = False
    flag: str | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """The tables on the way to it, and its name in the last of them."""
        return tuple(self.name.split("."))

    @property
    def is_family(self) -> bool:
        """Whether it stands for many settings; only the file can say those."""
        return "<" in self.name

    @property
    def variable(self) -> str | None:
        """The environment variable that says it."""
        return None if self.is_family else PREFIX + self.name.upper().replace(".", "_")

    @property
    def attribute(self) -> str:
        """The attribute of `Settings` that holds it; durations are in milliseconds."""
        unit = "_ms" if isinstance(self.type, Duration) else ""
        return self.name.replace(".", "_") + unit

    def covers(self, path: Sequence[str]) -> bool:
        """Tell whether a place in the file belongs to it, or is a table on the way to it."""
        stands_for = {"<name>": _ANY_NAME, "<option>": _ANY_OPTION}
        return all(
            part == own or (own in stands_for and stands_for[own].fullmatch(part) is not None)
            for part, own in zip(path, self.path, strict=False)
        )


KEYS: Final = (
    SettingKey(
        name="data_dir",
        type=Place(),
        default_text="the user's folder for data",
        description="where sessions, the access token and the lock are kept; one daemon for each",
        flag="--data-dir",
    ),
    SettingKey(
        name="state_dir",
        type=Place(),
        default_text="the user's folder for state, or `state` in a data_dir that was set",
        description="where logs are kept",
        flag="--state-dir",
    ),
    SettingKey(
        name="socket",
        type=Place(),
        default_text="in $XDG_RUNTIME_DIR, or in a data_dir that was set",
        description="the Unix socket; its folder belongs to the daemon alone",
        flag="--socket",
    ),
    SettingKey(
        name="listen.tcp",
        type=Switch(),
        default=True,
        description="also listen on a TCP port, for web pages and clients that know no socket",
        flag="--tcp",
    ),
    SettingKey(
        name="listen.host",
        type=Text(
            allowed="an address or a host name, without brackets or a port",
            form=r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*",
        ),
        default="127.0.0.1",
        description="the address to listen on; one that others reach needs listen.allow_remote",
        flag="--host",
    ),
    SettingKey(
        name="listen.port",
        type=WholeNumber(least=0, most=65_535),
        default=0,
        description="the TCP port; 0 takes a free one at every start",
        flag="--port",
    ),
    SettingKey(
        name="listen.allow_remote",
        type=Switch(),
        default=False,
        description="allow an address that other machines reach; nothing encrypts what they send",
        flag="--allow-remote",
    ),
    SettingKey(
        name="listen.allowed_hosts",
        type=Texts(allowed="a list of hosts, each with or without its port", form=_HOST),
        default=(),
        description="further names under which clients reach the daemon",
    ),
    SettingKey(
        name="listen.allowed_origins",
        type=Texts(allowed='a list of origins such as "https://example.org"', form=_ORIGIN),
        default=(),
        description="web pages that may use the daemon, each by its exact origin",
    ),
    SettingKey(
        name="storage.name",
        type=Text(allowed="the name of a storage", form=_WORDS),
        default="sqlite",
        description="the storage that keeps everything",
        flag="--storage",
    ),
    SettingKey(
        name="storages.<name>.plugin",
        type=Text(allowed="the name of a plugin", form=r"\S+"),
        default_text="the only plugin that offers it",
        description="which plugin provides that storage",
    ),
    SettingKey(
        name="storages.<name>.<option>",
        type=Text(),
        default_text="the storage's own",
        description="an option of that storage",
        secret=True,
    ),
    SettingKey(
        name="runtimes.<name>.plugin",
        type=Text(allowed="the name of a plugin", form=r"\S+"),
        default_text="the only plugin that offers it",
        description="which plugin provides that runtime",
    ),
    SettingKey(
        name="runtimes.<name>.<option>",
        type=Anything(),
        default_text="the runtime's own",
        description="an option of that runtime",
        secret=True,
    ),
    SettingKey(
        name="plugins.allow",
        type=Texts(allowed='a list of plugins, or ["*"]', form=rf"\*|{_PLUGIN}"),
        default=("*",),
        description='the only plugins to load, as "name" or "name@distribution"; * is all',
    ),
    SettingKey(
        name="plugins.block",
        type=Texts(allowed="a list of plugins", form=_PLUGIN),
        default=(),
        description="plugins to keep out; this wins over plugins.allow",
    ),
    SettingKey(
        name="agents.detect",
        type=Switch(),
        default=True,
        description="make a profile for each agent that is found at the start",
    ),
    SettingKey(
        name="plugins.strict",
        type=Switch(),
        default=False,
        description="refuse to start with a broken plugin",
        flag="--strict-plugins",
    ),
    SettingKey(
        name="plugins.time_limit",
        type=Duration(least_ms=100),
        default=10_000,
        description="how long each plugin may take to load",
    ),
    SettingKey(
        name="turns.concurrent",
        type=WholeNumber(least=1, most=10_000),
        default=16,
        description="how many turns run at once; the others wait visibly",
    ),
    SettingKey(
        name="turns.cancel_grace",
        type=Duration(),
        default=10_000,
        description="how long an interrupt waits for an agent whose profile says nothing else",
    ),
    SettingKey(
        name="turns.stop_grace",
        type=Duration(),
        default=10_000,
        description="how long a stop of the daemon waits for running turns",
    ),
    SettingKey(
        name="turns.idle",
        type=Duration(),
        default=600_000,
        description="after how long without a turn an agent's process is ended",
    ),
    SettingKey(
        name="turns.reattach",
        type=Duration(),
        default=10_000,
        description="how long a start waits for agents that outlived the last daemon",
    ),
    SettingKey(
        name="retention",
        type=Duration(),
        default=604_800_000,
        description="how long a deleted session is kept before it is gone for good",
    ),
    SettingKey(
        name="log.level",
        type=Choice(words=("debug", "info", "warning", "error")),
        default="info",
        description="the least important messages that are logged",
        flag="--log-level",
    ),
    SettingKey(
        name="log.format",
        type=Choice(words=("text", "json")),
        default="text",
        description="how messages are logged: for people, or a JSON object on each line",
        flag="--log-format",
    ),
    SettingKey(
        name="streams.limit",
        type=WholeNumber(least=1, most=100_000),
        default=200,
        description="how many clients may listen to events at once",
    ),
    SettingKey(
        name="streams.heartbeat",
        type=Duration(least_ms=100),
        default=15_000,
        description="after how long without an event a listener is told that all is well",
    ),
    SettingKey(
        name="mcp_servers",
        type=Tables(),
        default=(),
        description="MCP servers that every agent is offered",
        secret=True,
    ),
    SettingKey(
        name="environment",
        type=Texts(allowed='a list of names of variables, or ["*"]', form=_VARIABLE),
        default=("*",),
        description="the daemon's variables that profiles may pass on to agents; * is all",
    ),
)


def key_at(path: Sequence[str]) -> SettingKey | None:
    """Return the key of a place in the file, an exact one before a family."""
    for key in KEYS:
        if len(key.path) == len(path) and key.covers(path):
            return key
    return None


def is_table(path: Sequence[str]) -> bool:
    """Tell whether a place in the file is a table on the way to some key."""
    return any(len(key.path) > len(path) and key.covers(path) for key in KEYS)


@cache
def key_named(name: str) -> SettingKey | None:
    """Return a key by its name."""
    return next((key for key in KEYS if key.name == name), None)


@cache
def key_of_variable(variable: str) -> SettingKey | None:
    """Return the key that an environment variable says."""
    return next((key for key in KEYS if key.variable == variable), None)
