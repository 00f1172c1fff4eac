"""Keeps workflows equal to the folders that people name: at a start, on changes, and when asked."""

import asyncio
import logging
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spaced.clock import Clock
from spaced.engine.engine import Engine
from spaced.engine.sync_sources import SourceRecord
from spaced.errors import SpacedError
from spaced.refusals import InvalidRequest
from spaced.runtime.tasks import Tasks
from spaced.storage.protocol import Storage
from spaced.sync.book import SyncBook, SyncStatus
from spaced.sync.reports import RunReport
from spaced.sync.runs import SyncRuns

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedSource:
    """A source, and how its last run ended."""

    record: SourceRecord
    status: SyncStatus | None


class SyncService:
    """Adds, watches, runs and removes sources."""

    def __init__(self, engine: Engine, storage: Storage, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._book = SyncBook(storage)
        self._runs = SyncRuns(engine, self._book, clock.now)
        self._tasks = Tasks()
        self._watches: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Watch every source that is not paused; each is read in the background first."""
        for record in await self._engine.sync_sources.list():
            self._watch(record)

    async def close(self) -> None:
        """Watch nothing any more, and let nothing half done."""
        await self._tasks.close()
        self._watches.clear()

    async def add(
        self, path: str, *, source_id: str | None, name: str | None, polling: bool
    ) -> ReportedSource:
        """Watch a folder and read it once.

        Raises:
            InvalidRequest: it is no absolute path of a folder that can be read.
            SourceExists: another source reads it.
        """
        folder = await asyncio.to_thread(_checked_folder, path)
        sources = self._engine.sync_sources
        record = await sources.add(folder, source_id=source_id, name=name, polling=polling)
        try:
            await self._runs.run(record.id)
        except SpacedError as error:
            log.info("%s was added, but: %s", folder, error, extra={"event": "sync-failed"})
        self._watch(record)
        return await self.get(record.id)

    async def change(
        self, source_id: str, *, polling: bool | None, paused: bool | None
    ) -> ReportedSource:
        """Change how a source is watched.

        Raises:
            UnknownSource: there is none of this id.
        """
        record = await self._engine.sync_sources.change(source_id, polling=polling, paused=paused)
        await self._unwatch(source_id)
        self._watch(record)
        return await self.get(source_id)

    async def remove(self, source_id: str) -> None:
        """Read a folder no more; its workflows become local ones.

        Raises:
            UnknownSource: there is none of this id.
        """
        await self._engine.sync_sources.get(source_id)
        await self._unwatch(source_id)
        await self._runs.remove(source_id)

    async def run(self, source_id: str, *, dry_run: bool = False) -> RunReport:
        """Read a source now, also a paused one.

        Raises:
            UnknownSource: there is none of this id.
            SyncFailed: the folder cannot be read; nothing was applied.
        """
        return await self._tasks.finish(
            self._runs.run(source_id, dry_run=dry_run), name=f"sync of {source_id}"
        )

    async def list(self) -> Sequence[ReportedSource]:
        """Return all sources, by name."""
        records = await self._engine.sync_sources.list()
        return [await self._reported(record) for record in records]

    async def get(self, source_id: str) -> ReportedSource:
        """Return a source.

        Raises:
            UnknownSource: there is none of this id.
        """
        return await self._reported(await self._engine.sync_sources.get(source_id))

    async def _reported(self, record: SourceRecord) -> ReportedSource:
        return ReportedSource(record=record, status=await self._book.status(record.id))

    def _watch(self, record: SourceRecord) -> None:
        if record.source.status != "watched" or record.id in self._watches:
            return
        # Late, since most daemons read no folder: the watcher's library is loaded for the others.
        from spaced.sync.watching import watch

        async def look() -> None:
            try:
                await self._runs.run(record.id)
            except SpacedError as error:
                log.info("%s: %s", record.source.path, error, extra={"event": "sync-failed"})

        source = record.source
        self._watches[record.id] = self._tasks.start(
            watch(source.path, look, self._clock, polling=source.polling),
            name=f"watch of {source.path}",
        )

    async def _unwatch(self, source_id: str) -> None:
        task = self._watches.pop(source_id, None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])


def _checked_folder(path: str) -> str:
    if not path.startswith("/"):
        raise InvalidRequest(f"the path {path[:200]!r} is not absolute")
    folder = os.path.normpath(path)
    try:
        facts = Path(folder).stat()
        os.scandir(folder).close()
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise InvalidRequest(
            f"the folder {path[:200]!r} cannot be read: {what}",
            remedy="Name a folder that exists and that the daemon may read.",
        ) from error
    if not stat.S_ISDIR(facts.st_mode):
        raise InvalidRequest(f"{path[:200]!r} is no folder")
    return folder
