"""How the storage contract opens a storage, crashes it and looks at what is left.

A crash cannot be asked of a storage, only staged: the bytes that lie in its place at one moment are
copied, and the copy is opened. Nothing here can tell whether the operating system was made to sync
those bytes; a storage's own tests have to.
"""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from spaced.log.table import Table
from spaced.storage.memory import MemoryStorageFactory
from spaced.storage.protocol import Storage, StorageFactory, StoragePlace
from spaced.testing.fake_clock import FakeClock
from spaced.testing.tables import SAMPLE_TABLES

_COPY_ATTEMPTS = 200


class StorageHarness(ABC):
    """Opens storages for the tests of the contract and closes them all in the end."""

    def __init__(
        self, factory: StorageFactory, scratch: Path, *, options: Mapping[str, str] | None = None
    ) -> None:
        self.clock = FakeClock()
        self._factory = factory
        self._scratch = scratch
        self._options = dict(options or {})
        self._folders = 0
        self._opened: list[tuple[Storage, StoragePlace]] = []

    @abstractmethod
    def copy_place(self, source: Path, target: Path) -> None:
        """Copy what would survive if the process died now; `target` does not exist yet.

        It is called on the event loop and must not wait for the storage: what the storage has not
        made durable by now is lost.
        """

    async def open(self, tables: Sequence[Table] = SAMPLE_TABLES) -> Storage:
        """Open a storage in an empty place of its own."""
        return await self._open(self._new_place(tables))

    def capture(self, storage: Storage) -> StoragePlace:
        """Keep what a crash at this very moment would leave, for `open_captured`."""
        place = self._place_of(storage)
        copy = self._new_place(place.tables)
        self.copy_place(place.folder, copy.folder)
        return copy

    async def open_captured(self, captured: StoragePlace) -> Storage:
        """Open what a crash left."""
        return await self._open(captured)

    async def crash(self, storage: Storage) -> Storage:
        """Return the storage as it starts again if its process had died now, without a close."""
        return await self.open_captured(self.capture(storage))

    async def reopen(self, storage: Storage, tables: Sequence[Table] | None = None) -> Storage:
        """Close a storage and open it again, perhaps with other tables than before."""
        place = self._place_of(storage)
        await storage.close()
        return await self._open(place if tables is None else replace(place, tables=tables))

    async def restore(self, backup: Path) -> Storage:
        """Restore a backup into an empty place and open that."""
        place = self._new_place(SAMPLE_TABLES)
        await self._factory.restore(backup, place)
        return await self._open(place)

    async def restore_over(self, storage: Storage, backup: Path) -> None:
        """Try to restore a backup into the place of another storage."""
        await self._factory.restore(backup, self._place_of(storage))

    def new_folder(self) -> Path:
        """Return the path of a folder that does not exist yet."""
        self._folders += 1
        return self._scratch / f"folder-{self._folders}"

    async def close(self) -> None:
        """Close every storage that was opened here."""
        for storage, _ in self._opened:
            await storage.close()

    async def _open(self, place: StoragePlace) -> Storage:
        storage = await self._factory.open(place)
        self._opened.append((storage, place))
        return storage

    def _new_place(self, tables: Sequence[Table]) -> StoragePlace:
        folder = self.new_folder()
        return StoragePlace(folder=folder, tables=tables, clock=self.clock, options=self._options)

    def _place_of(self, storage: Storage) -> StoragePlace:
        return next(replace(place) for opened, place in self._opened if opened is storage)


class FolderStorageHarness(StorageHarness):
    """For any storage that keeps everything in the folder of its place."""

    def copy_place(self, source: Path, target: Path) -> None:
        """Copy the folder, again if it changed meanwhile: a power cut does not take its time."""
        for _ in range(_COPY_ATTEMPTS):
            before = _fingerprint(source)
            if _copied(source, target) and _fingerprint(source) == before:
                return
            shutil.rmtree(target, ignore_errors=True)
        raise AssertionError(f"{source} did not stand still for as long as a copy takes")


class MemoryStorageHarness(StorageHarness):
    """For the storage in memory, and for tests that need one to crash."""

    def __init__(self, scratch: Path, factory: MemoryStorageFactory | None = None) -> None:
        self._disks = factory or MemoryStorageFactory()
        super().__init__(self._disks, scratch)

    def copy_place(self, source: Path, target: Path) -> None:
        """Copy the disk."""
        self._disks.disks[target] = self._disks.disks[source].copy()


def _copied(source: Path, target: Path) -> bool:
    try:
        shutil.copytree(source, target)
    except (shutil.Error, FileNotFoundError):
        return False  # a file went away while it was copied
    return True


def _fingerprint(folder: Path) -> Mapping[str, tuple[int, int]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        try:
            facts = path.stat()
        except FileNotFoundError:
            continue
        found[str(path)] = (facts.st_size, facts.st_mtime_ns)
    return found
