"""One run of a source: read everything, check, plan, apply; what fails early applies nothing."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from spaced.domain.definitions import DefinedWorkflow
from spaced.domain.events.sync_source import SyncOutcomeChanged
from spaced.domain.problem import Problem
from spaced.engine.engine import Engine
from spaced.engine.sync_sources import SourceRecord
from spaced.engine.workflows.bindings import KnownProfiles
from spaced.sync.book import SyncBook, SyncStatus, applied_row, forgotten_row, status_row
from spaced.sync.clone_facts import CloneFacts, clone_facts
from spaced.sync.files import FileVerdict, FolderContents, FoundFile, read_all
from spaced.sync.folders import LocalFolder, WorkflowFolder
from spaced.sync.memory import LastRun, remembered
from spaced.sync.parsing import parse
from spaced.sync.plan import Change, Surroundings, plan
from spaced.sync.reports import RunReport, warnings_of
from spaced.workflow_refusals import SyncFailed, UnknownSource

_AT_ONCE: Final = 2
"""Files that are applied at the same time: one is decided on while another is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What a run looks at.

    Attributes:
        verdicts: of the files that are looked at.
        existing: the workflows that these files, and those that are gone, have or had.
        last: the run before, where its outcome for all other files still holds.
        touched: the names of these files.
    """

    verdicts: Sequence[FileVerdict]
    existing: Mapping[str, DefinedWorkflow]
    last: LastRun | None
    touched: frozenset[str]


class SyncRuns:
    """Runs sources, each by itself and one run at a time."""

    def __init__(
        self,
        engine: Engine,
        book: SyncBook,
        now: Callable[[], int],
        open_folder: Callable[[str], WorkflowFolder] = LocalFolder,
    ) -> None:
        self._engine = engine
        self._book = book
        self._now = now
        self._open_folder = open_folder
        self._turns: dict[str, asyncio.Lock] = {}
        self._last: dict[str, LastRun] = {}

    async def run(self, source_id: str, *, dry_run: bool = False) -> RunReport:
        """Read a source and take over what it says, or only tell what would be taken over.

        Raises:
            UnknownSource: there is none of this id.
            SyncFailed: the folder cannot be read; nothing was applied.
        """
        async with self._turns.setdefault(source_id, asyncio.Lock()):
            record = await self._engine.sync_sources.get(source_id)
            try:
                return await self._run(record, dry_run=dry_run)
            except OSError as error:
                failure = _failure(record.source.path, error)
                if not dry_run:
                    self._last.pop(source_id, None)
                    await self._note_failure(source_id, failure)
                raise failure from error

    async def remove(self, source_id: str) -> None:
        """Remove a source between its runs; its workflows become local ones.

        Raises:
            UnknownSource: there is none of this id.
        """
        async with self._turns.setdefault(source_id, asyncio.Lock()):
            await self._engine.sync_sources.remove(source_id)
            self._last.pop(source_id, None)
            await self._forget_files(source_id, set(await self._book.verdicts(source_id)))

    async def _run(self, record: SourceRecord, *, dry_run: bool) -> RunReport:
        path = record.source.path
        contents = await asyncio.to_thread(read_all, self._open_folder(path))
        profiles = await self._engine.bindings.known()
        look = await self._look(record.id, contents, profiles)
        facts = await asyncio.to_thread(clone_facts, path)
        around = Surroundings(
            existing=look.existing,
            origin={
                "source": "synced",
                "source_id": record.id,
                "path": path,
                "commit": None if facts is None else facts.commit,
            },
            dirty=await asyncio.to_thread(_dirty, facts, contents.files, look.touched),
            profiles=profiles,
            kept_files={one.name: one.reason for one in contents.skipped},
        )
        planned = await asyncio.to_thread(plan, look.verdicts, around)
        changes = [await self._looked_at(change) for change in planned]
        if not dry_run:
            changes = await self._apply(record.id, look.verdicts, changes)
            gone = look.touched - contents.digests.keys()
            await self._forget_files(record.id, gone)
        return await self._concluded(record.id, contents, look, changes, around, dry_run=dry_run)

    async def _concluded(
        self,
        source_id: str,
        contents: FolderContents,
        look: _Look,
        changes: Sequence[Change],
        around: Surroundings,
        *,
        dry_run: bool,
    ) -> RunReport:
        """Put the outcome together with what the run before found of all other files."""
        now = await asyncio.to_thread(
            remembered,
            look.last,
            contents,
            around.profiles,
            verdicts=look.verdicts,
            changes=changes,
            touched=look.touched,
        )
        others = [] if look.last is None else look.last.others(look.touched)
        everything = [*changes, *others]
        warnings = await asyncio.to_thread(
            warnings_of, contents.skipped, list(now.verdicts.values()), everything, around.profiles
        )
        commit = around.origin.get("commit")
        report = RunReport(
            source_id=source_id,
            is_dry=dry_run,
            commit=commit if isinstance(commit, str) else None,
            changes=everything,
            warnings=warnings,
        )
        if not dry_run:
            await self._note_success(report)
            self._last[source_id] = now
        return report

    async def _look(
        self, source_id: str, contents: FolderContents, profiles: KnownProfiles
    ) -> _Look:
        last = self._last.get(source_id)
        if last is None or not last.holds_for(contents, profiles):
            return await self._look_at_all(source_id, contents)
        files, gone = last.to_look_at(contents), last.gone(contents)
        touched = frozenset({file.name for file in files} | gone)
        read = await parse(files, source_id)
        ids = {entry.id for verdict in read.values() for entry in verdict.entries}
        return _Look(
            verdicts=list(read.values()),
            existing=await self._existing(ids.union(last.ids_of(touched))),
            last=last,
            touched=touched,
        )

    async def _look_at_all(self, source_id: str, contents: FolderContents) -> _Look:
        existing = {
            one.id: one.definition for one in await self._engine.workflows.of_source(source_id)
        }
        known = await self._book.verdicts(source_id)
        reused = {
            file.name: known[file.name]
            for file in contents.files
            if file.name in known and _still_holds(known[file.name], file, existing)
        }
        new = [file for file in contents.files if file.name not in reused]
        verdicts = reused | await parse(new, source_id)
        return _Look(
            verdicts=[verdicts[file.name] for file in contents.files],
            existing=existing,
            last=None,
            touched=frozenset({*known, *contents.digests}),
        )

    async def _existing(self, ids: set[str]) -> Mapping[str, DefinedWorkflow]:
        found = {one: await self._engine.workflows.newest(one) for one in ids}
        return {one: state for one, state in found.items() if state is not None}

    async def _looked_at(self, change: Change) -> Change:
        """Return a change as blocked if a run is in a step that it would remove."""
        runs: list[str] = []
        for step in change.removed:
            runs += await self._engine.synced.runs_in(change.workflow_id, step.id)
        return change.blocked_by(tuple(runs)) if runs else change

    async def _apply(
        self, source_id: str, verdicts: Sequence[FileVerdict], changes: Sequence[Change]
    ) -> list[Change]:
        by_file: dict[str, list[Change]] = {verdict.name: [] for verdict in verdicts}
        for change in changes:
            by_file.setdefault(change.file, []).append(change)
        blocked: dict[str, tuple[str, ...]] = {}
        for first in range(0, len(verdicts), _AT_ONCE):
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._apply_file(source_id, verdict, by_file[verdict.name]))
                    for verdict in verdicts[first : first + _AT_ONCE]
                ]
            for task in tasks:
                blocked |= task.result()
        for change in changes:
            if change.action == "retire":
                await self._engine.synced.retire(change.workflow_id, reason=change.reason or "")
        return [
            change.blocked_by(blocked[change.workflow_id])
            if change.workflow_id in blocked
            else change
            for change in changes
        ]

    async def _apply_file(
        self, source_id: str, verdict: FileVerdict, changes: Sequence[Change]
    ) -> dict[str, tuple[str, ...]]:
        """Take over one file in one append; returns what runs kept back after all."""
        definitions = [change.definition for change in changes if change.definition is not None]
        is_clear = all(change.action != "blocked" for change in changes)
        is_news = any(entry.workflow is not None for entry in verdict.entries)
        keeps = verdict.is_accepted and is_clear and is_news
        row = [applied_row(source_id, verdict)] if keeps else []
        applied = await self._engine.synced.apply(definitions, applied=row)
        return {one.workflow_id: one.run_ids for one in applied if one.outcome == "blocked"}

    async def _forget_files(self, source_id: str, names: set[str] | frozenset[str]) -> None:
        await self._book.write([forgotten_row(source_id, name) for name in sorted(names)])

    async def _note_success(self, report: RunReport) -> None:
        outcome = SyncOutcomeChanged(ok=True, warnings=report.kept_warnings, commit=report.commit)
        await self._engine.sync_sources.note_outcome(report.source_id, outcome)
        status = SyncStatus(at=self._now(), commit=report.commit, counts=report.counts)
        await self._book.write([status_row(report.source_id, status)])

    async def _note_failure(self, source_id: str, failure: SyncFailed) -> None:
        outcome = SyncOutcomeChanged(ok=False, problem=Problem.of(failure))
        try:
            await self._engine.sync_sources.note_outcome(source_id, outcome)
        except UnknownSource:
            return  # removed meanwhile, so nobody asks
        before = await self._book.status(source_id) or SyncStatus(at=0)
        await self._book.write([status_row(source_id, replace(before, at=self._now()))])


def _still_holds(
    verdict: FileVerdict, file: FoundFile, existing: Mapping[str, DefinedWorkflow]
) -> bool:
    """Tell whether a file says what was taken over of it, so that it need not be parsed."""
    if verdict.digest != file.digest:
        return False
    states = (existing.get(one.id) for one in verdict.entries if one.trouble is None)
    return all(state is not None and state.status == "active" for state in states)


def _dirty(
    facts: CloneFacts | None, files: Sequence[FoundFile], names: frozenset[str]
) -> dict[str, bool | None]:
    if facts is None:
        return {}
    return {
        file.name: facts.is_dirty(file.name, file.content) for file in files if file.name in names
    }


def _failure(path: str, error: OSError) -> SyncFailed:
    about = f" of {error.filename!r}" if error.filename not in (None, path) else ""
    what = error.strerror or type(error).__name__
    return SyncFailed(f"the folder {path!r} cannot be read{about}: {what}")
