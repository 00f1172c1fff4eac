"""A data directory without its daemon: opened for one command, and under the same lock."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from spaced.clock import SystemClock, to_rfc3339
from spaced.daemon.directories import private_folder
from spaced.daemon.settings import Settings
from spaced.daemon.single_instance import Lock
from spaced.daemon.storage_place import open_storage, plugins_of, storage_place
from spaced.storage.protocol import Storage


@asynccontextmanager
async def opened(settings: Settings) -> AsyncGenerator[Storage]:
    """Open the storage of a data directory that no daemon serves.

    Raises:
        AlreadyRunning: a daemon serves it.
        StorageRefused: what lies there cannot be opened.
    """
    clock = SystemClock()
    private_folder(settings.data_dir)
    with Lock.take(settings.data_dir, started_at=to_rfc3339(clock.now())):
        storage = await open_storage(settings, plugins_of(settings), clock)
        try:
            yield storage
        finally:
            await storage.close()


async def restore(settings: Settings, backup: Path) -> None:
    """Put a backup into the empty place of a data directory's storage, as a log of its own.

    Args:
        backup: an absolute path.

    Raises:
        AlreadyRunning: a daemon serves it.
        StorageRefused: there is something already, or it is no backup.
    """
    clock = SystemClock()
    private_folder(settings.data_dir)
    with Lock.take(settings.data_dir, started_at=to_rfc3339(clock.now())):
        factory = plugins_of(settings).storage(settings.storage_name)
        await factory.restore(backup, storage_place(settings, clock))
