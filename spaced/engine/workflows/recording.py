"""The one way in which a workflow's definition changes, whoever changes it.

Under the lock that entries of steps share, the newest version is read, decided on and recorded;
a step that a run is in is never removed. What a run entered stays as it was: it pins a version.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from spaced.domain.definitions import DefinedWorkflow, apply_to_workflow
from spaced.domain.events.event import WorkflowEvent
from spaced.domain.events.workflow import WorkflowDefined
from spaced.domain.json_values import JsonObject
from spaced.domain.workflow import Step, Workflow
from spaced.domain.workflow_changes import WorkflowChanges, changes_between
from spaced.domain.workflow_edits import broken_dependents
from spaced.domain.workflow_rules import faults_of
from spaced.engine.journal import Entry, Journal, KnownRows, Statement
from spaced.engine.workflows.locks import EntryLocks
from spaced.engine.workflows.reading import WorkflowRecord, Workflows, living
from spaced.errors import StaleRevision
from spaced.log.read_models.definitions import WORKFLOW
from spaced.log.read_models.runs import RUN
from spaced.log.table import RowWrite
from spaced.storage.protocol import Storage
from spaced.workflow_refusals import (
    InvalidWorkflow,
    StepInUse,
    StepReferenced,
    WorkflowSynced,
)

WorkflowCheck: TypeAlias = Callable[[Workflow], Sequence[Mapping[str, object]]]
"""Returns what is wrong with a workflow: `{code, where, message, remedy}` each."""

_FEW: Final = 5
"""How many runs a refusal names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A workflow's stream at one moment.

    Attributes:
        version: of the stream; 0 if nothing was ever recorded.
        state: `None` if it is no workflow; a deleted one has its state still.
    """

    workflow_id: str
    version: int
    state: DefinedWorkflow | None

    def entry(self, *events: WorkflowEvent) -> Entry:
        """Return what records events behind what was seen."""
        return Entry(
            stream=self.workflow_id,
            expected_version=self.version,
            statements=[Statement(event=event) for event in events],
        )

    def defined(
        self, workflow: Workflow, origin: JsonObject, *, sort_order: int | None = None
    ) -> WorkflowDefined:
        """Return the event that defines the workflow anew, with what it changes."""
        before = self.state if self.state is not None and self.state.status != "deleted" else None
        if sort_order is None:
            sort_order = 0 if before is None else before.sort_order
        return WorkflowDefined(
            workflow=workflow,
            origin=origin,
            changes=changes_between(None if before is None else before.workflow, workflow),
            sort_order=sort_order,
        )

    def after(self, *events: WorkflowEvent) -> WorkflowRecord:
        """Return the workflow as events leave it."""
        state = self.state
        for version, event in enumerate(events, start=self.version + 1):
            state = apply_to_workflow(state, event, version=version)
        assert state is not None
        return WorkflowRecord(id=self.workflow_id, definition=state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A workflow after an edit, and what the edit did."""

    record: WorkflowRecord
    changes: WorkflowChanges

    @property
    def demoted(self) -> Sequence[Step]:
        """The steps that are no start step any more."""
        return self.changes.demoted(self.record.definition.workflow)


class WorkflowBook:
    """Looks at workflows and records what was decided about them."""

    def __init__(
        self,
        storage: Storage,
        journal: Journal,
        workflows: Workflows,
        locks: EntryLocks,
        check: WorkflowCheck,
    ) -> None:
        self.locks = locks
        self._storage = storage
        self._journal = journal
        self._workflows = workflows
        self._check = check

    async def look(self, workflow_id: str) -> Seen:
        """Look at a workflow; the caller holds its lock."""
        # The version first: what is recorded between the two reads makes the append be refused.
        version = await self._storage.version(workflow_id)
        state = await self._workflows.newest(workflow_id)
        return Seen(workflow_id=workflow_id, version=version, state=state)

    async def record(
        self,
        *entries: Entry,
        own_rows: Sequence[RowWrite] = (),
        new_ids: Sequence[str] = (),
        bulk: bool = False,
    ) -> None:
        """Record entries of several streams, and rows with them, all or nothing.

        Args:
            new_ids: workflows that there were none of, so that their rows need not be read.
            bulk: whether it lets everything else that waits go first.
        """
        known = KnownRows()
        for workflow_id in new_ids:
            known.hold_absent(WORKFLOW.name, (workflow_id,))
        await self._journal.append(*entries, own_rows=own_rows, known=known, bulk=bulk)

    async def edit(
        self,
        workflow_id: str,
        edit: Callable[[Workflow], Workflow],
        *,
        expected_revision: int | None = None,
    ) -> Edited:
        """Change a workflow that is no file's; what changes nothing records nothing.

        Args:
            edit: returns the workflow as it is to be.
            expected_revision: what the caller has seen; `None` overwrites whatever is there.

        Raises:
            UnknownWorkflow: there is none of this id.
            WorkflowSynced: it is changed in its file.
            StaleRevision: somebody else changed it.
            StepReferenced: other steps need what the edit takes away.
            StepInUse: a run is in a step that the edit removes.
            InvalidWorkflow: it would break a rule.
        """
        async with self.locks.changing(workflow_id):
            seen = await self.look(workflow_id)
            state = living(workflow_id, seen.state).definition
            refuse_synced(workflow_id, state)
            after = edit(state.workflow)
            if after == state.workflow:
                unchanged = WorkflowRecord(id=workflow_id, definition=state)
                return Edited(record=unchanged, changes=WorkflowChanges())
            if expected_revision not in (None, state.version):
                raise StaleRevision(
                    "workflow", workflow_id, expected=expected_revision, revision=state.version
                )
            _refuse_broken(state.workflow, after)
            self.refuse_invalid(after)
            defined = seen.defined(after, _edited(state.origin))
            assert defined.changes is not None
            await self.refuse_used(workflow_id, defined.changes.removed)
            await self.record(seen.entry(defined))
            return Edited(record=seen.after(defined), changes=defined.changes)

    def refuse_invalid(self, workflow: Workflow) -> None:
        """Refuse a workflow that breaks a rule.

        Raises:
            InvalidWorkflow: it does.
        """
        findings = tuple(self._check(workflow))
        if findings:
            first = findings[0]
            told = f"{first['where']}: {first['message']}" if first["where"] else first["message"]
            more = f", and {len(findings) - 1} more" if len(findings) > 1 else ""
            raise InvalidWorkflow(f"{told}{more}", findings=findings)

    async def refuse_used(self, workflow_id: str, steps: Sequence[Step]) -> None:
        """Refuse to remove steps that a run is in.

        Raises:
            StepInUse: some run is.
        """
        for step in steps:
            if runs := await self.runs_in(workflow_id, step.id):
                raise StepInUse(
                    f"the step {step.name!r} cannot be removed: {' and '.join(runs)} "
                    f"{'is' if len(runs) == 1 else 'are'} in it",
                    run_ids=tuple(runs),
                )

    async def runs_in(self, workflow_id: str, step_id: str | None = None) -> list[str]:
        """Return some of the runs that are in a step, or anywhere in a workflow."""
        where: dict[str, str | int] = {"is_live": 1, "workflow_id": workflow_id}
        if step_id is not None:
            where["step_id"] = step_id
        found = await self._storage.list_rows(RUN.name, where=where, order="in_step", limit=_FEW)
        return [str(row["id"]) for row in found.rows]


def refuse_synced(workflow_id: str, state: DefinedWorkflow) -> None:
    """Refuse to change what is read from a file.

    Raises:
        WorkflowSynced: it is.
    """
    if state.source != "synced":
        return
    line = state.origin.get("line")
    raise WorkflowSynced(
        workflow_id,
        name=state.workflow.name,
        file=f"{state.origin.get('path')}/{state.origin.get('file')}",
        line=line if isinstance(line, int) else 1,
    )


def _refuse_broken(before: Workflow, after: Workflow) -> None:
    broken = broken_dependents(before, after)
    if not broken:
        return
    names = "; ".join(f"step {one.step.name!r}: {one.why}" for one in broken)
    raise StepReferenced(
        f"other steps need it as it is: {names}",
        dependents=tuple(
            {"id": one.step.id, "name": one.step.name, "why": one.why} for one in broken
        ),
    )


def _edited(origin: JsonObject) -> JsonObject:
    """Mark a built-in workflow as changed by a person, so that no update writes over it."""
    return {**origin, "edited": True} if origin.get("source") == "builtin" else origin


def renamed(workflow: Workflow, name: str) -> Workflow:
    """Return the workflow under another name."""
    return replace(workflow, name=name)


def rules_of(workflow: Workflow) -> Sequence[Mapping[str, object]]:
    """Return the rules among a workflow's steps that do not hold; the least that is checked."""
    names = {step.id: step.name for step in workflow.steps}
    return [
        {
            "code": fault.code,
            "where": f"step {names[fault.step_id]!r}",
            "message": fault.message,
            "remedy": fault.remedy,
        }
        for fault in faults_of(workflow)
    ]
