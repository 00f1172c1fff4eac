"""One run of a source: read everything, check, plan, apply; what fails early applies nothing."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from spaced.domain.definitions import DefinedWorkflow
from spaced.domain.events.sync_source import SyncOutcomeChanged
from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem
from spaced.engine.engine import Engine
from spaced.engine.sync_sources import SourceRecord
from spaced.engine.workflows.bindings import KnownProfiles
from spaced.log.table import RowWrite
from spaced.portable.findings import Finding
from spaced.sync.book import SyncBook, SyncStatus, applied_row, forgotten_row, status_row
from spaced.sync.clone_facts import CloneFacts, clone_facts
from spaced.sync.files import FileVerdict, FolderContents, FoundFile, read_all
from spaced.sync.folders import LocalFolder, WorkflowFolder
from spaced.sync.plan import Change, Surroundings, plan
from spaced.sync.verdicts import verdict_of
from spaced.workflow_refusals import SyncFailed, UnknownSource


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run did, or would do.

    Attributes:
        changes: every workflow of the source; what is unchanged too.
        warnings: `{file, line, column, severity, code, message}` each.
    """

    source_id: str
    is_dry: bool
    commit: str | None
    changes: Sequence[Change]
    warnings: tuple[JsonObject, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """How many workflows there are of each kind of change."""
        return dict(Counter(change.action for change in self.changes))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settled:
    """What a run need not look at again while it stays the same."""

    digests: Mapping[str, str]
    skipped: Sequence[object]
    profiles: KnownProfiles
    report: RunReport


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
        self._settled: dict[str, _Settled] = {}

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
                    self._settled.pop(source_id, None)
                    await self._note_failure(source_id, failure)
                raise failure from error

    async def remove(self, source_id: str) -> None:
        """Remove a source between its runs; its workflows become local ones.

        Raises:
            UnknownSource: there is none of this id.
        """
        async with self._turns.setdefault(source_id, asyncio.Lock()):
            await self._engine.sync_sources.remove(source_id)
            self._settled.pop(source_id, None)
            await self._forget_files(source_id, [])

    async def _run(self, record: SourceRecord, *, dry_run: bool) -> RunReport:
        path = record.source.path
        contents = await asyncio.to_thread(read_all, self._open_folder(path))
        profiles = await self._engine.bindings.known()
        settled = self._settled.get(record.id)
        if settled is not None and _is_settled(settled, contents, profiles):
            return await self._same_again(settled, dry_run=dry_run)
        facts = await asyncio.to_thread(clone_facts, path)
        existing = {
            one.id: one.definition for one in await self._engine.workflows.of_source(record.id)
        }
        verdicts = await self._verdicts(record.id, contents, existing)
        around = Surroundings(
            existing=existing,
            origin={
                "source": "synced",
                "source_id": record.id,
                "path": path,
                "commit": None if facts is None else facts.commit,
            },
            dirty=await asyncio.to_thread(_dirty, facts, contents.files),
            profiles=profiles,
            kept_files={one.name: one.reason for one in contents.skipped},
        )
        changes = [await self._looked_at(change) for change in plan(verdicts, around)]
        if not dry_run:
            changes = await self._apply(record.id, verdicts, changes)
        report = RunReport(
            source_id=record.id,
            is_dry=dry_run,
            commit=None if facts is None else facts.commit,
            changes=changes,
            warnings=_warnings(contents, verdicts, changes, profiles),
        )
        if not dry_run:
            await self._note_success(report)
            self._remember(report, contents, profiles)
        return report

    async def _verdicts(
        self, source_id: str, contents: FolderContents, existing: Mapping[str, DefinedWorkflow]
    ) -> Sequence[FileVerdict]:
        known = await self._book.verdicts(source_id)
        verdicts = []
        for file in contents.files:
            before = known.get(file.name)
            if before is None or not _still_holds(before, file, existing):
                before = await asyncio.to_thread(verdict_of, file, source_id)
            verdicts.append(before)
        return verdicts

    async def _looked_at(self, change: Change) -> Change:
        """Return a change as blocked if a run is in a step that it would remove."""
        runs: list[str] = []
        for step in change.removed:
            runs += await self._engine.synced.runs_in(change.workflow_id, step.id)
        return change.blocked_by(tuple(runs)) if runs else change

    async def _apply(
        self, source_id: str, verdicts: Sequence[FileVerdict], changes: Sequence[Change]
    ) -> list[Change]:
        blocked: dict[str, tuple[str, ...]] = {}
        for verdict in verdicts:
            mine = [change for change in changes if change.file == verdict.name]
            definitions = [change.definition for change in mine if change.definition is not None]
            is_clear = all(change.action != "blocked" for change in mine)
            keeps = verdict.is_accepted and is_clear and _is_fresh(verdict)
            row = [applied_row(source_id, verdict)] if keeps else []
            for done in await self._engine.synced.apply(definitions, applied=row):
                if done.outcome == "blocked":
                    blocked[done.workflow_id] = done.run_ids
        await self._forget_files(source_id, verdicts)
        for change in changes:
            if change.action == "retire":
                await self._engine.synced.retire(change.workflow_id, reason=change.reason or "")
        return [
            change.blocked_by(blocked[change.workflow_id])
            if change.workflow_id in blocked
            else change
            for change in changes
        ]

    async def _forget_files(self, source_id: str, verdicts: Sequence[FileVerdict]) -> None:
        names = {verdict.name for verdict in verdicts}
        gone = [name for name in await self._book.verdicts(source_id) if name not in names]
        await self._book.write([forgotten_row(source_id, name) for name in gone])

    async def _same_again(self, settled: _Settled, *, dry_run: bool) -> RunReport:
        report = replace(settled.report, is_dry=dry_run)
        if not dry_run:
            await self._note_success(report)
        return report

    def _remember(
        self, report: RunReport, contents: FolderContents, profiles: KnownProfiles
    ) -> None:
        unchanged = [
            change
            if change.action in ("frozen", "blocked")
            else replace(change, action="unchanged", definition=None, fields=())
            for change in report.changes
            if change.action != "retire"
        ]
        if any(change.action == "blocked" for change in unchanged):
            # The runs in its way may be gone at any time, so each run looks at it again.
            self._settled.pop(report.source_id, None)
            return
        self._settled[report.source_id] = _Settled(
            digests=contents.digests,
            skipped=contents.skipped,
            profiles=profiles,
            report=replace(report, changes=unchanged),
        )

    async def _note_success(self, report: RunReport) -> None:
        outcome = SyncOutcomeChanged(ok=True, warnings=report.warnings, commit=report.commit)
        await self._engine.sync_sources.note_outcome(report.source_id, outcome)
        status = SyncStatus(at=self._now(), commit=report.commit, counts=report.counts)
        rows: list[RowWrite] = [status_row(report.source_id, status)]
        await self._book.write(rows)

    async def _note_failure(self, source_id: str, failure: SyncFailed) -> None:
        outcome = SyncOutcomeChanged(ok=False, problem=Problem.of(failure))
        try:
            await self._engine.sync_sources.note_outcome(source_id, outcome)
        except UnknownSource:
            return  # removed meanwhile, so nobody asks
        before = await self._book.status(source_id)
        counts = {} if before is None else before.counts
        status = SyncStatus(at=self._now(), counts=counts)
        await self._book.write([status_row(source_id, status)])


def _is_settled(settled: _Settled, contents: FolderContents, profiles: KnownProfiles) -> bool:
    return (
        settled.digests == contents.digests
        and settled.skipped == contents.skipped
        and settled.profiles == profiles
    )


def _still_holds(
    verdict: FileVerdict, file: FoundFile, existing: Mapping[str, DefinedWorkflow]
) -> bool:
    """Tell whether a file says what was taken over of it, so that it need not be parsed."""
    if verdict.digest != file.digest:
        return False
    states = (existing.get(one.id) for one in verdict.entries if one.trouble is None)
    return all(state is not None and state.status == "active" for state in states)


def _is_fresh(verdict: FileVerdict) -> bool:
    return any(entry.workflow is not None for entry in verdict.entries) or not any(
        entry.trouble is None for entry in verdict.entries
    )


def _dirty(facts: CloneFacts | None, files: Sequence[FoundFile]) -> dict[str, bool | None]:
    if facts is None:
        return {}
    return {file.name: facts.is_dirty(file.name, file.content) for file in files}


def _failure(path: str, error: OSError) -> SyncFailed:
    about = f" of {error.filename!r}" if error.filename not in (None, path) else ""
    what = error.strerror or type(error).__name__
    return SyncFailed(f"the folder {path!r} cannot be read{about}: {what}")


def _warnings(
    contents: FolderContents,
    verdicts: Sequence[FileVerdict],
    changes: Sequence[Change],
    profiles: KnownProfiles,
) -> tuple[JsonObject, ...]:
    """Return everything that people should know, by file and place."""
    told = [_told(one.name, "skipped-file", one.reason, "warning") for one in contents.skipped]
    for verdict in verdicts:
        told += [_finding(verdict.name, one) for one in verdict.findings]
        told += [
            _finding(verdict.name, warning)
            for descriptor, warning in verdict.unbound
            if not profiles.is_bound(descriptor)
        ]
    for change in changes:
        if change.action == "blocked":
            runs = " and ".join(change.run_ids)
            steps = " and ".join(repr(step.name) for step in change.removed)
            message = (
                f"workflow {change.name!r} stays as it is: the file no longer has the step "
                f"{steps}, and {runs} {'are' if len(change.run_ids) > 1 else 'is'} in it"
            )
            told.append(_told(change.file, "step-in-use", message, "warning"))
        elif change.action == "frozen":
            message = f"workflow {change.name!r} stays as it is: {change.reason}"
            told.append(_told(change.file, "frozen", message, "warning"))
    return tuple(sorted(told, key=lambda one: (one["file"], one["line"], one["column"])))


def _told(file: str, code: str, message: str, severity: str) -> dict[str, object]:
    return {
        "file": file,
        "line": 0,
        "column": 0,
        "severity": severity,
        "code": code,
        "message": message,
    }


def _finding(file: str, one: Finding) -> dict[str, object]:
    where = f"{one.where}: " if one.where else ""
    return {
        "file": file,
        "line": one.line,
        "column": one.column,
        "severity": one.severity,
        "code": one.code,
        "message": f"{where}{one.message}; {one.remedy}",
    }
