"""Decides what a run does: pure, complete, and printable before anything is done.

A file that is refused, or a workflow of it that cannot be told from another, freezes what is there:
it stays at its last good version. What is gone is retired and kept.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from spaced.domain.definitions import DefinedWorkflow
from spaced.domain.json_values import JsonObject
from spaced.domain.workflow import Step, Workflow
from spaced.domain.workflow_changes import WorkflowChanges, changes_between
from spaced.domain.workflow_edits import one_start
from spaced.engine.workflows.bindings import KnownProfiles
from spaced.engine.workflows.synced import SyncedDefinition, place_of
from spaced.sync.files import FileVerdict, WorkflowEntry

Action = Literal["create", "update", "retire", "return", "blocked", "frozen", "unchanged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a run does with one workflow.

    Attributes:
        definition: what is to be recorded; for `create update return` only.
        fields: what differs, for people.
        removed: steps that the file no longer has; a run in one of them blocks the change.
        run_ids: the runs that block it.
        reason: why it is frozen or retired.
        renamed_to: for `retire`, the workflow that came in its place, if that can be told.
    """

    action: Action
    workflow_id: str
    name: str
    file: str
    definition: SyncedDefinition | None = None
    fields: tuple[str, ...] = ()
    removed: tuple[Step, ...] = ()
    run_ids: tuple[str, ...] = ()
    reason: str | None = None
    renamed_to: str | None = None

    def blocked_by(self, run_ids: tuple[str, ...]) -> "Change":
        """Return the change as one that cannot be done."""
        return replace(self, action="blocked", definition=None, run_ids=run_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a plan is made against.

    Attributes:
        existing: the source's workflows by id, retired ones too.
        origin: what every definition of the run tells of its source, but for file and line.
        dirty: for each file whether it differs from the commit, where that can be told.
        profiles: what descriptors mean now.
        kept_files: files that are there but cannot be used at all; they freeze what they defined.
    """

    existing: Mapping[str, DefinedWorkflow]
    origin: JsonObject
    profiles: KnownProfiles
    dirty: Mapping[str, bool | None] = field(default_factory=dict)
    kept_files: Mapping[str, str] = field(default_factory=dict)


def plan(verdicts: Sequence[FileVerdict], around: Surroundings) -> Sequence[Change]:
    """Return what is to be done with every workflow: by file, those that are gone last."""
    changes = [change for verdict in verdicts for change in _of_file(verdict, around)]
    seen = {change.workflow_id for change in changes}
    gone = [_gone(one, state, around) for one, state in around.existing.items() if one not in seen]
    return [*changes, *_with_successors([one for one in gone if one is not None], changes)]


def _of_file(verdict: FileVerdict, around: Surroundings) -> Iterator[Change]:
    if not verdict.is_accepted:
        for workflow_id, state in around.existing.items():
            if state.origin.get("file") == verdict.name and state.status == "active":
                yield _frozen(workflow_id, state, verdict.name, "its file is refused")
        return
    told: set[str] = set()
    for entry in verdict.entries:
        if entry.id not in told:
            told.add(entry.id)
            yield _of_entry(entry, verdict.name, around)


def _of_entry(entry: WorkflowEntry, file: str, around: Surroundings) -> Change:
    state = around.existing.get(entry.id)
    if entry.trouble is not None:
        return Change(
            action="frozen", workflow_id=entry.id, name=entry.name, file=file, reason=entry.trouble
        )
    workflow = entry.workflow
    if workflow is None:
        # The same bytes as when it was recorded; only what its descriptors mean may have changed.
        assert state is not None
        workflow = state.workflow
    before = None if state is None else state.workflow
    settled = around.profiles.settle(one_start(workflow), before)
    origin = {**around.origin, "file": file, "line": entry.line, "dirty": around.dirty.get(file)}
    definition = SyncedDefinition(
        workflow_id=entry.id, workflow=settled, origin=origin, is_new=state is None
    )
    return _compared(entry, file, state, definition)


def _compared(
    entry: WorkflowEntry, file: str, state: DefinedWorkflow | None, definition: SyncedDefinition
) -> Change:
    change = Change(
        action="unchanged",
        workflow_id=entry.id,
        name=entry.name,
        file=file,
        definition=definition,
    )
    if state is None:
        return replace(change, action="create")
    changes = changes_between(state.workflow, definition.workflow)
    fields = told_changes(changes, state.workflow, definition.workflow)
    if state.status == "retired":
        return replace(change, action="return", fields=fields, removed=changes.removed)
    if place_of(state.origin) != place_of(definition.origin):
        fields = (*fields, "line")
    if fields:
        return replace(change, action="update", fields=fields, removed=changes.removed)
    return replace(change, definition=None)


def told_changes(changes: WorkflowChanges, before: Workflow, after: Workflow) -> tuple[str, ...]:
    """Return how two versions differ, in the words of a plan."""
    names = {step.id: step.name for step in (*before.steps, *after.steps)}
    return (
        *changes.fields,
        *(f"step {names[one]}: new" for one in changes.created),
        *(f"step {names[one]}: {', '.join(fields)}" for one, fields in changes.updated.items()),
        *(f"step {step.name}: removed" for step in changes.removed),
    )


def _frozen(workflow_id: str, state: DefinedWorkflow, file: str, reason: str) -> Change:
    return Change(
        action="frozen",
        workflow_id=workflow_id,
        name=state.workflow.name,
        file=file,
        reason=reason,
    )


def _gone(workflow_id: str, state: DefinedWorkflow, around: Surroundings) -> Change | None:
    if state.status != "active":
        return None
    file = str(state.origin.get("file"))
    if file in around.kept_files:
        return _frozen(workflow_id, state, file, around.kept_files[file])
    return Change(
        action="retire",
        workflow_id=workflow_id,
        name=state.workflow.name,
        file=file,
        reason=f"{file} no longer has it",
    )


def _with_successors(gone: Sequence[Change], others: Sequence[Change]) -> Iterator[Change]:
    """Say which new workflow stands in the place of one that is gone: so a rename is seen."""
    new: dict[str, list[Change]] = defaultdict(list)
    for change in others:
        if change.action == "create":
            new[change.file].append(change)
    lost = defaultdict(list)
    for change in gone:
        if change.action == "retire":
            lost[change.file].append(change)
    for change in gone:
        here = new[change.file]
        same_name = [one for found in new.values() for one in found if one.name == change.name]
        renamed_to = None
        if change.action == "retire" and len(here) == 1 and len(lost[change.file]) == 1:
            renamed_to = here[0].name
        elif change.action == "retire" and len(same_name) == 1:
            renamed_to = f"{change.name} in {same_name[0].file}"
        yield replace(change, renamed_to=renamed_to)
