"""The only place that knows every part: puts a daemon together from its settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from os import getpid
from pathlib import Path
from typing import Final

from spaced.agents.finding import Agents, Machine
from spaced.api.gate import Gate
from spaced.api.services import DaemonFacts, Services
from spaced.api.streams.hub import EventHub, StreamSettings
from spaced.clock import Clock, to_rfc3339
from spaced.daemon.settings import LoadedSettings, Settings
from spaced.daemon.storage_place import open_storage
from spaced.engine.engine import Engine
from spaced.plugin_host.host import PluginHost
from spaced.portable.checking import problems_of
from spaced.portable.shipped import ShippedWorkflows
from spaced.redaction import Redactor
from spaced.storage.protocol import Storage
from spaced.sync.service import SyncService
from spaced.wire.reports import ListenerFacts, Setting

VERSION: Final = version("spaced")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A daemon whose parts know each other; nothing of it runs yet.

    Attributes:
        gate: closes the API to changes.
    """

    storage: Storage
    engine: Engine
    streams: EventHub
    services: Services
    gate: Gate


async def compose(
    loaded: LoadedSettings,
    plugins: PluginHost,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    token: str,
    redactor: Redactor,
    listeners: Callable[[], ListenerFacts],
) -> Parts:
    """Open the storage and put everything together over it.

    Args:
        environment: the daemon's own variables.
        token: opens every route over TCP.
        redactor: hides secrets on their way out.
        listeners: tells where the daemon is reached.

    Raises:
        PluginProblem: the chosen storage is not there.
        StorageRefused: what lies in the data directory cannot be opened.
    """
    settings = loaded.settings
    storage = await open_storage(settings, plugins, clock)
    shipped = ShippedWorkflows()
    engine = Engine(
        storage,
        dict(plugins.runtimes),
        clock=clock,
        state_folder=runtimes_folder(settings),
        settings=settings.engine(environment),
        runtime_configs=settings.runtime_configs,
        redact=redactor.text,
        builtins=shipped,
        check_workflow=problems_of,
    )
    limits = StreamSettings(most=settings.streams_limit, heartbeat_ms=settings.streams_heartbeat_ms)
    streams = EventHub(storage, engine.announcements, clock, settings=limits)
    services = Services(
        engine=engine,
        storage=storage,
        clock=clock,
        streams=streams,
        facts=DaemonFacts(
            version=VERSION,
            pid=getpid(),
            started_at=to_rfc3339(clock.now()),
            token=token,
            storage=settings.storage_name,
            limits={
                "concurrent_turns": settings.turns_concurrent,
                "streams": settings.streams_limit,
            },
            warnings=_warnings(plugins),
        ),
        plugins=plugins.inventory,
        settings=_settings(loaded),
        redactor=redactor,
        listeners=listeners,
        agents=agents_of(loaded, environment),
        shipped=shipped,
        sync=SyncService(engine, storage, clock),
    )
    return Parts(storage=storage, engine=engine, streams=streams, services=services, gate=Gate())


def agents_of(loaded: LoadedSettings, environment: Mapping[str, str]) -> Agents:
    """Return what looks for the agents that a daemon with these variables could start."""
    settings = loaded.settings
    machine = Machine(environment=environment, home=_home(), installed=settings.data_dir / "agents")
    config = loaded.config_file
    return Agents(machine, None if config is None else config.parent / "agents")


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # a user without a home folder has nothing in it
        return Path("/nonexistent")


def runtimes_folder(settings: Settings) -> Path:
    """Return the folder in which every runtime gets one of its own."""
    return settings.data_dir / "runtimes"


def _warnings(plugins: PluginHost) -> tuple[str, ...]:
    broken = [
        f"plugin {facts.name!r} of {facts.distribution!r} is broken: {facts.reason}"
        for facts in plugins.inventory.broken
    ]
    return (*broken, *plugins.inventory.problems)


def _settings(loaded: LoadedSettings) -> tuple[Setting, ...]:
    return tuple(
        Setting(
            name=one.name,
            value=one.value,
            origin=one.origin,
            type=one.type,
            description=one.description,
        )
        for one in loaded.listing()
    )
