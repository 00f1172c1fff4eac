"""Where a data directory keeps the log of its storage, and how that is opened."""

from pathlib import Path

from spaced.clock import Clock
from spaced.daemon.settings import Settings
from spaced.log.read_models.catalogue import TABLES
from spaced.plugin_host.host import PluginHost, load_plugins
from spaced.storage.protocol import Storage, StoragePlace


def storage_folder(settings: Settings) -> Path:
    """Return the folder of the chosen storage; each storage has one of its own."""
    return settings.data_dir / "storage" / settings.storage_name


def storage_place(settings: Settings, clock: Clock) -> StoragePlace:
    """Return what the chosen storage is told of where it lives."""
    return StoragePlace(
        folder=storage_folder(settings),
        tables=tuple(TABLES.values()),
        clock=clock,
        options=settings.storage_options,
    )


def plugins_of(settings: Settings) -> PluginHost:
    """Load the plugins that the settings let in; this blocks.

    Raises:
        PluginProblem: a choice is misspelt, or one is broken and none may be.
    """
    return load_plugins(
        allow=settings.allowed_plugins,
        block=settings.plugins_block,
        strict=settings.plugins_strict,
        time_limit=settings.plugins_time_limit_ms / 1000,
        choices=settings.plugin_choices,
    )


async def open_storage(settings: Settings, plugins: PluginHost, clock: Clock) -> Storage:
    """Open the log of a data directory; the caller holds its lock.

    Raises:
        PluginProblem: the chosen storage is not there.
        StorageRefused: what lies there cannot be opened.
    """
    factory = plugins.storage(settings.storage_name)
    return await factory.open(storage_place(settings, clock))
