"""The settings of a daemon: defaults, then `config.toml`, then `SPACED_*` variables, then flags.

Every mistake of one load is reported at once, each with its place, so that nobody corrects a file
line by line.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spaced.daemon.directories import Directories, default_directories, default_socket
from spaced.daemon.setting_keys import CONFIG_VARIABLE, KEYS, SettingKey
from spaced.daemon.setting_sources import Sources
from spaced.daemon.settings_file import SettingsFile, read_settings_file
from spaced.refusals import InvalidSettings

if TYPE_CHECKING:
    from spaced.engine.parts import EngineSettings

CONFIG_NAME: Final = "config.toml"
HIDDEN: Final = "(hidden)"
ALL: Final = "*"

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_MOST_FINDINGS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a daemon runs; `setting_keys.KEYS` says what each of these means.

    Paths are absolute, attributes that end in `_ms` are whole milliseconds.

    Attributes:
        storages: what was set for each storage, by its name; with `plugin`, if that was set.
        runtimes: the same for each runtime.
    """

    data_dir: Path
    state_dir: Path
    socket: Path
    listen_tcp: bool
    listen_host: str
    listen_port: int
    listen_allow_remote: bool
    listen_allowed_hosts: tuple[str, ...]
    listen_allowed_origins: tuple[str, ...]
    storage_name: str
    storages: Mapping[str, Mapping[str, str]] = field(repr=False)
    runtimes: Mapping[str, Mapping[str, object]] = field(repr=False)
    plugins_allow: tuple[str, ...]
    plugins_block: tuple[str, ...]
    plugins_strict: bool
    plugins_time_limit_ms: int
    turns_concurrent: int
    turns_cancel_grace_ms: int
    turns_stop_grace_ms: int
    turns_idle_ms: int
    turns_reattach_ms: int
    retention_ms: int
    log_level: str
    log_format: str
    streams_limit: int
    streams_heartbeat_ms: int
    mcp_servers: tuple[Mapping[str, object], ...] = field(repr=False)
    environment: tuple[str, ...]
    agents_detect: bool

    @property
    def allowed_plugins(self) -> tuple[str, ...] | None:
        """The only plugins to load, or `None` for all of them."""
        return None if ALL in self.plugins_allow else self.plugins_allow

    @property
    def plugin_choices(self) -> Mapping[str, str]:
        """Which plugin provides a name, by setting: `runtimes.<name>.plugin`."""
        kinds = {"storages": self.storages, "runtimes": self.runtimes}
        return {
            f"{kind}.{name}.plugin": str(options["plugin"])
            for kind, named in kinds.items()
            for name, options in named.items()
            if "plugin" in options
        }

    @property
    def storage_options(self) -> Mapping[str, str]:
        """What the chosen storage is told."""
        return _without_plugin(self.storages.get(self.storage_name, {}))

    @property
    def runtime_configs(self) -> Mapping[str, Mapping[str, object]]:
        """What each runtime is told, by its name."""
        return {name: _without_plugin(options) for name, options in self.runtimes.items()}

    def engine(self, environment: Mapping[str, str]) -> "EngineSettings":
        """Return what concerns the engine.

        Args:
            environment: the daemon's own variables. Of these, agents can get what the setting
                `environment` names and what no program does without, such as `PATH`.
        """
        from spaced.engine.parts import EngineSettings
        from spaced.engine.session_specs import ALWAYS_SEEN

        seen = {*ALWAYS_SEEN, *self.environment}
        return EngineSettings(
            concurrent_turns=self.turns_concurrent,
            cancel_grace_ms=self.turns_cancel_grace_ms,
            stop_grace_ms=self.turns_stop_grace_ms,
            idle_ms=self.turns_idle_ms,
            reattach_ms=self.turns_reattach_ms,
            retention_ms=self.retention_ms,
            environment={
                name: value
                for name, value in environment.items()
                if ALL in self.environment or name in seen or name.startswith("LC_")
            },
            mcp_servers=self.mcp_servers,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSetting:
    """One setting as a list shows it.

    Attributes:
        name: with dots; of a family only what was set is listed.
        value: as JSON can hold it; of a secret that was set only that it is hidden.
        origin: where it was said, or `default`.
        type: what a value has to be.
        variable: the environment variable that says it, if there is one.
        flag: the flag that says it, if there is one.
    """

    name: str
    value: object
    origin: str
    description: str
    type: str
    variable: str | None
    flag: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """Settings, and where each of them comes from.

    Attributes:
        config_file: the file that was read, or would be if there was one; `None` if not even its
            place is known.
    """

    settings: Settings
    config_file: Path | None
    listed: tuple[ListedSetting, ...] = field(repr=False)

    def listing(self) -> tuple[ListedSetting, ...]:
        """Return every setting with its value and origin; secrets are hidden."""
        return self.listed


def load_settings(
    *,
    environment: Mapping[str, str],
    flags: Mapping[str, object],
    config_file: Path | None = None,
) -> LoadedSettings:
    """Read the settings from everywhere. Nothing is made or changed.

    Args:
        environment: variables; those that begin with `SPACED_` are read, empty ones are ignored.
            Default places follow the process's own `HOME` and `XDG_*`.
        flags: values from the command line by the names of keys, as texts or as what they mean;
            `None` and `()` are ignored.
        config_file: the file to read; without one `SPACED_CONFIG` names it, and without that it
            is `config.toml` in the default place, where it may be missing.

    Raises:
        InvalidSettings: something cannot be used; the message has a line for each mistake.
    """
    sources = Sources()
    defaults = _defaults()
    chosen = _chosen_file(environment, config_file)
    path = chosen or (defaults.config / CONFIG_NAME if defaults else None)
    if file := _read(path, sources.findings, must_exist=chosen is not None):
        sources.take_file(file)
    sources.take_environment(environment)
    sources.take_flags(flags)
    values = _values(sources, defaults)
    _check_host(values, sources)
    if sources.findings:
        raise InvalidSettings(_message(sources.findings))
    settings = Settings(**values)
    listed = tuple(_listing(settings, sources))
    return LoadedSettings(settings=settings, config_file=path, listed=listed)


def _defaults() -> Directories | None:
    try:
        return default_directories()
    except InvalidSettings:
        return None  # only matters if a place is needed that nobody has said; see `_places`


def _chosen_file(environment: Mapping[str, str], config_file: Path | None) -> Path | None:
    named = environment.get(CONFIG_VARIABLE, "")
    if config_file is None and named:
        return Path(os.path.expanduser(named)).absolute()  # noqa: PTH111 - never raises
    return config_file


def _read(path: Path | None, findings: list[str], *, must_exist: bool) -> SettingsFile | None:
    try:
        file = read_settings_file(path) if path else None
    except InvalidSettings as error:
        findings.append(error.message)
        return None
    if file is None and must_exist:
        findings.append(f"there is no settings file {path}")
    return file


def _values(sources: Sources, defaults: Directories | None) -> dict[str, Any]:
    """Return a value for each attribute of `Settings`."""
    values: dict[str, Any] = {key.attribute: key.default for key in KEYS if not key.is_family}
    families: dict[str, dict[str, dict[str, object]]] = {"storages": {}, "runtimes": {}}
    for said in sources.said.values():
        if said.key.is_family:
            kind, name, option = said.path
            families[kind].setdefault(name, {})[option] = said.value
        else:
            values[said.key.attribute] = said.value
    return {**values, **families, **_places(values, sources, defaults)}


def _places(
    values: Mapping[str, Any], sources: Sources, defaults: Directories | None
) -> Mapping[str, Path]:
    """Return the places; those that nobody has said follow from the data directory."""
    data_dir: Path | None = values["data_dir"] or (defaults.data if defaults else None)
    if data_dir is None:
        sources.findings.append(
            "data_dir has no default place, since this user has no home folder;"
            " set SPACED_DATA_DIR, or HOME"
        )
        return {}
    is_default = defaults is not None and data_dir == defaults.data
    # Two daemons must not write to one log, so a data directory brings its own place for it.
    state_dir = defaults.state if defaults and is_default else data_dir / "state"
    return {
        "data_dir": data_dir,
        "state_dir": values["state_dir"] or state_dir,
        "socket": values["socket"] or default_socket(data_dir, is_default=is_default),
    }


def _check_host(values: Mapping[str, Any], sources: Sources) -> None:
    host: str = values["listen_host"]
    if values["listen_allow_remote"] or _is_loopback(host):
        return
    said = sources.said.get(("listen", "host"))
    sources.findings.append(
        f"{said.origin if said else 'the default'}: listen.host {host!r} lets other machines reach"
        " the daemon, and whoever learns its token, which nothing encrypts on the way, runs"
        " programs as you; set listen.allow_remote to true if that is what you want"
    )


def _is_loopback(host: str) -> bool:
    if host in _LOOPBACK:
        return True
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False  # any other name may mean any address


def _listing(settings: Settings, sources: Sources) -> Iterator[ListedSetting]:
    for key in KEYS:
        paths = [path for path, said in sources.said.items() if said.key is key]
        for path in sorted(paths) or ([] if key.is_family else [key.path]):
            yield _listed(key, path, settings, sources)


def _listed(
    key: SettingKey, path: tuple[str, ...], settings: Settings, sources: Sources
) -> ListedSetting:
    said = sources.said.get(path)
    value = said.value if said and key.is_family else getattr(settings, key.attribute, None)
    return ListedSetting(
        name=".".join(path),
        value=HIDDEN if said and key.secret else key.type.show(value),
        origin=said.origin if said else "default",
        description=key.description,
        type=key.type.allowed,
        variable=key.variable,
        flag=key.flag,
    )


def _message(findings: list[str]) -> str:
    more = len(findings) - _MOST_FINDINGS
    shown = findings[:_MOST_FINDINGS]
    return "\n".join([*shown, f"and {more} more mistakes"] if more > 0 else shown)


def _without_plugin(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "plugin"}
