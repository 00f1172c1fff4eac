"""What people do with workflows: create, change, copy, order, delete them, and their steps."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeGuard

from spaced.domain.builtin_workflows import AGENT_CHAT_ID, AGENT_CHAT_STEP_ID
from spaced.domain.definitions import DefinedWorkflow
from spaced.domain.events.workflow import WorkflowDeleted
from spaced.domain.workflow import Step, Workflow
from spaced.domain.workflow_edits import add_step, change_step, remove_step, reorder_steps
from spaced.domain.workflow_references import with_step_ids
from spaced.engine.workflows.builtin import BuiltinWorkflows
from spaced.engine.workflows.reading import WorkflowRecord, Workflows, living
from spaced.engine.workflows.recording import Edited, WorkflowBook, refuse_synced, renamed
from spaced.errors import StaleRevision
from spaced.identifiers import IdGenerator, accept
from spaced.log.record import SYSTEM_STREAM
from spaced.refusals import InvalidRequest
from spaced.workflow_refusals import (
    StepInUse,
    StepReferenced,
    UnknownStep,
    UnknownWorkflow,
    WorkflowExists,
)

LOCAL: Final = {"source": "local"}


class WorkflowEditing:
    """Changes workflows on behalf of people; synced ones are changed in their files."""

    def __init__(
        self,
        book: WorkflowBook,
        workflows: Workflows,
        ids: IdGenerator,
        builtins: BuiltinWorkflows,
    ) -> None:
        self._book = book
        self._workflows = workflows
        self._ids = ids
        self._builtins = builtins

    async def create(self, workflow: Workflow, *, workflow_id: str | None = None) -> WorkflowRecord:
        """Create a workflow, or return the one that the same call created before.

        Args:
            workflow: its steps' ids are kept.
            workflow_id: chosen by the caller, so that asking again never makes a second one.

        Raises:
            WorkflowExists: the id is that of something else.
            InvalidIdentifier: the id cannot be one.
            InvalidWorkflow: it breaks a rule.
        """
        self._book.refuse_invalid(workflow)
        new_id = (
            self._ids.new("wf") if workflow_id is None else accept(workflow_id, what="workflow")
        )
        async with self._book.locks.changing(new_id):
            seen = await self._book.look(new_id)
            if _is_active(seen.state) and seen.state.workflow == workflow:
                return living(new_id, seen.state)
            if seen.version or new_id == SYSTEM_STREAM:
                raise WorkflowExists(f"the id {new_id!r} is taken")
            defined = seen.defined(workflow, LOCAL)
            await self._book.record(seen.entry(defined))
            return seen.after(defined)

    async def change(
        self,
        workflow_id: str,
        changes: Mapping[str, object],
        *,
        expected_revision: int | None = None,
    ) -> Edited:
        """Change a workflow's own fields; raises what `WorkflowBook.edit` does."""
        return await self._book.edit(
            workflow_id,
            lambda workflow: replace(workflow, **changes),  # type: ignore[arg-type]
            expected_revision=expected_revision,
        )

    async def delete(self, workflow_id: str, *, expected_revision: int | None = None) -> None:
        """Delete a workflow that no run is in; deleting it again is fine.

        Raises:
            UnknownWorkflow: there never was one of this id.
            WorkflowSynced: it goes when its file does.
            StaleRevision: somebody else changed it.
            StepInUse: a run is in it, or every chat needs it.
        """
        async with self._book.locks.changing(workflow_id):
            seen = await self._book.look(workflow_id)
            if seen.state is not None and seen.state.status == "deleted":
                return
            state = living(workflow_id, seen.state).definition
            refuse_synced(workflow_id, state)
            if expected_revision not in (None, state.version):
                raise StaleRevision(
                    "workflow", workflow_id, expected=expected_revision, revision=state.version
                )
            if workflow_id == AGENT_CHAT_ID:
                raise StepInUse("every chat is a run of this workflow, so it stays", run_ids=())
            if runs := await self._book.runs_in(workflow_id):
                raise StepInUse(
                    f"the workflow {state.workflow.name!r} cannot be deleted: "
                    f"{' and '.join(runs)} {'is' if len(runs) == 1 else 'are'} in it",
                    run_ids=tuple(runs),
                )
            await self._book.record(seen.entry(WorkflowDeleted()))

    async def duplicate(
        self, workflow_id: str, *, name: str | None = None, new_id: str | None = None
    ) -> WorkflowRecord:
        """Copy a workflow, synced ones too, under ids of its own.

        Args:
            name: of the copy; by default the old one with `(copy)`.

        Raises:
            UnknownWorkflow: there is none of this id.
            WorkflowExists: the name or the id is taken.
        """
        source = (await self._workflows.get(workflow_id)).definition.workflow
        return await self._copy(source, name or f"{source.name} (copy)", new_id, chosen=name)

    async def from_template(
        self, template_id: str, *, name: str | None = None, new_id: str | None = None
    ) -> WorkflowRecord:
        """Create a workflow from the shipped text of a built-in one.

        Raises:
            UnknownWorkflow: no built-in workflow has this id.
            WorkflowExists: the name or the id is taken.
        """
        if template_id not in self._builtins.ids():
            raise UnknownWorkflow(template_id)
        shipped = await asyncio.to_thread(self._builtins.read, template_id)
        return await self._copy(shipped, name or shipped.name, new_id, chosen=name)

    async def reset(self, workflow_id: str) -> WorkflowRecord:
        """Bring the shipped text of a built-in workflow back, also if it was deleted.

        Raises:
            UnknownWorkflow: it is no built-in one.
            StepInUse: a run is in a step that the shipped text does not have.
        """
        if workflow_id not in self._builtins.ids():
            raise UnknownWorkflow(workflow_id)
        shipped = await asyncio.to_thread(self._builtins.read, workflow_id)
        digest = await asyncio.to_thread(self._builtins.digest, workflow_id)
        origin = {"source": "builtin", "digest": digest}
        async with self._book.locks.changing(workflow_id):
            seen = await self._book.look(workflow_id)
            state = seen.state
            if state is not None and (state.workflow, state.origin, state.status) == (
                *(shipped, origin),
                "active",
            ):
                return WorkflowRecord(id=workflow_id, definition=state)
            defined = seen.defined(shipped, origin)
            assert defined.changes is not None
            await self._book.refuse_used(workflow_id, defined.changes.removed)
            await self._book.record(seen.entry(defined))
            return seen.after(defined)

    async def reorder(self, workflow_ids: Sequence[str]) -> Sequence[WorkflowRecord]:
        """Put workflows first in the list, in this order; the order is no part of any file.

        Raises:
            UnknownWorkflow: there is none of one of the ids.
            InvalidRequest: one is named twice.
        """
        if len(set(workflow_ids)) < len(workflow_ids):
            raise InvalidRequest("a workflow is named more than once")
        async with self._book.locks.changing(*workflow_ids):
            seen = [await self._book.look(workflow_id) for workflow_id in workflow_ids]
            moved = [
                one.entry(one.defined(state.workflow, state.origin, sort_order=place))
                for place, one in enumerate(seen, start=1)
                if (state := living(one.workflow_id, one.state).definition).sort_order != place
            ]
            if moved:
                await self._book.record(*moved)
        return await self._workflows.list()

    async def add_step(
        self, workflow_id: str, step: Step, *, expected_revision: int | None = None
    ) -> Edited:
        """Add a step; the same step again changes nothing.

        Raises:
            WorkflowExists: the step's id is that of another step.
        """

        def edit(workflow: Workflow) -> Workflow:
            found = workflow.step(step.id)
            if found == step:
                return workflow
            if found is not None:
                raise WorkflowExists(f"the step id {step.id!r} is taken by {found.name!r}")
            return add_step(workflow, step)

        return await self._book.edit(workflow_id, edit, expected_revision=expected_revision)

    async def change_step(
        self,
        workflow_id: str,
        step_id: str,
        changes: Mapping[str, object],
        *,
        expected_revision: int | None = None,
    ) -> Edited:
        """Change a step's fields; raises what `WorkflowBook.edit` does, and `UnknownStep`."""

        def edit(workflow: Workflow) -> Workflow:
            _known(workflow_id, workflow, step_id)
            return change_step(workflow, step_id, changes)

        return await self._book.edit(workflow_id, edit, expected_revision=expected_revision)

    async def remove_step(
        self, workflow_id: str, step_id: str, *, expected_revision: int | None = None
    ) -> Edited:
        """Remove a step; raises what `WorkflowBook.edit` does, and `UnknownStep`."""

        def edit(workflow: Workflow) -> Workflow:
            _known(workflow_id, workflow, step_id)
            if step_id == AGENT_CHAT_STEP_ID:
                raise StepReferenced("every chat is in this step, so it stays", dependents=())
            return remove_step(workflow, step_id)

        return await self._book.edit(workflow_id, edit, expected_revision=expected_revision)

    async def reorder_steps(
        self, workflow_id: str, step_ids: Sequence[str], *, expected_revision: int | None = None
    ) -> Edited:
        """Put the steps into another order.

        Args:
            step_ids: every step once.

        Raises:
            InvalidRequest: one is missing, or named twice.
        """

        def edit(workflow: Workflow) -> Workflow:
            if sorted(step_ids) != sorted(step.id for step in workflow.steps):
                raise InvalidRequest("an order names every step of the workflow once")
            return reorder_steps(workflow, step_ids)

        return await self._book.edit(workflow_id, edit, expected_revision=expected_revision)

    async def _copy(
        self, source: Workflow, name: str, new_id: str | None, *, chosen: str | None
    ) -> WorkflowRecord:
        # The steps' ids follow from a chosen id, so that asking again gives the same copy.
        ids = {
            step.id: self._ids.new("step") if new_id is None else f"{new_id}.{place}"
            for place, step in enumerate(source.steps)
        }
        copy = with_step_ids(source, ids)
        made = None if new_id is None else await self._workflows.newest(new_id)
        if new_id is not None and _is_active(made):
            return await self.create(
                renamed(copy, chosen or made.workflow.name), workflow_id=new_id
            )
        if await self._workflows.named(name):
            if chosen is not None:
                raise WorkflowExists(f"there is a workflow called {name!r} already")
            name = await self.free_name(name)
        return await self.create(renamed(copy, name), workflow_id=new_id)

    async def free_name(self, name: str, taken: frozenset[str] = frozenset()) -> str:
        """Return a name that no workflow has: the one given, or with a number behind it."""
        number, free = 1, name
        while free in taken or await self._workflows.named(free):
            number += 1
            free = f"{name} ({number})"
        return free


def _known(workflow_id: str, workflow: Workflow, step_id: str) -> Step:
    step = workflow.step(step_id)
    if step is None:
        raise UnknownStep(workflow_id, step_id)
    return step


def _is_active(state: DefinedWorkflow | None) -> TypeGuard[DefinedWorkflow]:
    return state is not None and state.status == "active"
