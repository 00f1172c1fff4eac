"""The folders that workflows are read from: the commands that define, pause and remove them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from spaced.domain.definitions import SyncSource, apply_to_sync_source
from spaced.domain.events.event import SyncSourceEvent
from spaced.domain.events.sync_source import (
    SyncOutcomeChanged,
    SyncSourceDefined,
    SyncSourcePaused,
    SyncSourceResumed,
)
from spaced.engine.journal import Entry, Journal, Statement
from spaced.engine.workflows.reading import Workflows
from spaced.engine.workflows.synced import SyncedWorkflows
from spaced.errors import StaleVersion
from spaced.identifiers import IdGenerator, accept
from spaced.log.read_models.definitions import SYNC_SOURCE, SYNC_SOURCES
from spaced.log.record import SYSTEM_STREAM
from spaced.storage.protocol import Storage
from spaced.workflow_refusals import SourceExists, UnknownSource

_Decide: TypeAlias = Callable[[SyncSource | None], SyncSourceEvent | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """A sync source as it is now."""

    id: str
    source: SyncSource


class SyncSources:
    """Creates, changes, finds and removes sync sources."""

    def __init__(
        self,
        storage: Storage,
        journal: Journal,
        ids: IdGenerator,
        workflows: Workflows,
        synced: SyncedWorkflows,
    ) -> None:
        self._storage = storage
        self._journal = journal
        self._ids = ids
        self._workflows = workflows
        self._synced = synced

    async def add(
        self,
        path: str,
        *,
        source_id: str | None = None,
        name: str | None = None,
        polling: bool = False,
    ) -> SourceRecord:
        """Watch a folder, or return the source that the same call added before.

        Args:
            path: the folder, absolute; that it can be read is the caller's to look at.
            source_id: chosen by the caller, so that asking again never makes a second one.

        Raises:
            SourceExists: another source reads the folder, or has the id.
        """
        new_id = self._ids.new("src") if source_id is None else accept(source_id, what="source")
        wanted = SyncSource(path=path, polling=polling, name=name)
        for record in await self.list():
            if record.source.path == path and record.id != source_id:
                raise SourceExists(f"the folder {path!r} is read by {record.id!r} already")

        def decide(state: SyncSource | None) -> SyncSourceEvent | None:
            if state is None and new_id != SYSTEM_STREAM:
                return SyncSourceDefined(path=path, polling=polling, name=name)
            if state is None or state.status == "removed" or _said(state) != _said(wanted):
                raise SourceExists(f"the id {new_id!r} is taken")
            return None

        return await self._command(new_id, decide)

    async def change(
        self, source_id: str, *, polling: bool | None = None, paused: bool | None = None
    ) -> SourceRecord:
        """Change how a source is watched; what is left out stays as it is.

        Raises:
            UnknownSource: there is none of this id.
        """
        record = await self.get(source_id)
        if polling is not None:

            def look_otherwise(state: SyncSource | None) -> SyncSourceEvent | None:
                source = _living(source_id, state)
                if source.polling is polling:
                    return None
                return SyncSourceDefined(path=source.path, polling=polling, name=source.name)

            record = await self._command(source_id, look_otherwise)
        if paused is not None:

            def pause(state: SyncSource | None) -> SyncSourceEvent | None:
                is_paused = _living(source_id, state).status == "paused"
                if is_paused is paused:
                    return None
                return SyncSourcePaused() if paused else SyncSourceResumed()

            record = await self._command(source_id, pause)
        return record

    async def note_outcome(self, source_id: str, outcome: SyncOutcomeChanged) -> None:
        """Record how a run ended, if that is other than the run before.

        Raises:
            UnknownSource: the source was removed meanwhile.
        """

        def decide(state: SyncSource | None) -> SyncSourceEvent | None:
            source = _living(source_id, state)
            before = (source.ok, source.problem, source.warnings)
            return None if before == (outcome.ok, outcome.problem, outcome.warnings) else outcome

        await self._command(source_id, decide)

    async def remove(self, source_id: str) -> None:
        """Read a folder no more; its workflows become local ones, in the same append.

        Raises:
            UnknownSource: there is none of this id.
        """
        while True:
            version = await self._storage.version(source_id)
            _living(source_id, await self._state(source_id))
            ids = [record.id for record in await self._workflows.of_source(source_id)]
            try:
                await self._synced.release(source_id, version, ids)
            except StaleVersion:
                continue  # an outcome was noted meanwhile
            return

    async def get(self, source_id: str) -> SourceRecord:
        """Return a source.

        Raises:
            UnknownSource: there is none of this id, or it was removed.
        """
        source = _living(source_id, await self._state(source_id))
        return SourceRecord(id=source_id, source=source)

    async def list(self) -> Sequence[SourceRecord]:
        """Return all sources, by name."""
        found = await self._storage.list_rows(SYNC_SOURCE.name, order="by_name")
        records = [
            SourceRecord(id=str(row["id"]), source=SYNC_SOURCES.state_of(row))
            for row in found.rows
            if row["status"] != "removed"
        ]
        return sorted(records, key=lambda one: (one.source.name or one.source.path, one.id))

    async def _command(self, source_id: str, decide: _Decide) -> SourceRecord:
        while True:
            version = await self._storage.version(source_id)
            state = await self._state(source_id)
            if state is None and version:
                raise SourceExists(f"the id {source_id!r} is taken")
            event = decide(state)
            if event is None:
                assert state is not None
                return SourceRecord(id=source_id, source=state)
            entry = Entry(
                stream=source_id, expected_version=version, statements=[Statement(event=event)]
            )
            try:
                await self._journal.append(entry)
            except StaleVersion:
                continue  # another command was recorded, so each turn of the loop is progress
            after = apply_to_sync_source(state, event)
            assert after is not None
            return SourceRecord(id=source_id, source=after)

    async def _state(self, source_id: str) -> SyncSource | None:
        rows = (await self._storage.get_rows(SYNC_SOURCE.name, [(source_id,)])).rows
        return SYNC_SOURCES.state_of(rows[0]) if rows else None


def _living(source_id: str, state: SyncSource | None) -> SyncSource:
    if state is None or state.status == "removed":
        raise UnknownSource(source_id)
    return state


def _said(source: SyncSource) -> tuple[str, bool, str | None]:
    return source.path, source.polling, source.name
