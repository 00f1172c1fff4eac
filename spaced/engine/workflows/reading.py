"""Finds workflows: by id, by name, of a source, in an older version."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spaced.domain.definitions import DefinedWorkflow
from spaced.domain.events.workflow import WorkflowDefined
from spaced.log.fact import fact_of
from spaced.log.read_models.definitions import WORKFLOW, WORKFLOWS
from spaced.log.table import Row
from spaced.storage.protocol import Storage
from spaced.workflow_refusals import UnknownWorkflow

_PAGE: Final = 100
"""Definitions that are read in one piece: few enough that the event loop is not held up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRecord:
    """A workflow as it is now.

    Attributes:
        revision: of its newest definition.
    """

    id: str
    definition: DefinedWorkflow

    @property
    def revision(self) -> int:
        """The version that step entries pin."""
        return self.definition.version


class Workflows:
    """Reads workflows from their rows."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def newest(self, workflow_id: str) -> DefinedWorkflow | None:
        """Return a workflow in its newest version, whatever became of it since."""
        rows = (await self._storage.get_rows(WORKFLOW.name, [(workflow_id,)])).rows
        return WORKFLOWS.state_of(rows[0]) if rows else None

    async def get(self, workflow_id: str) -> WorkflowRecord:
        """Return a workflow, also a retired one.

        Raises:
            UnknownWorkflow: there is none of this id, or it was deleted.
        """
        return living(workflow_id, await self.newest(workflow_id))

    async def list(self, *, retired: bool = False) -> Sequence[WorkflowRecord]:
        """Return all workflows in their order: those that have a place, then the others by name.

        Args:
            retired: those whose file is gone, instead of those that can be used.
        """
        status = "retired" if retired else "active"
        found = [record async for record in self._found({"status": status}, order="by_name")]
        return sorted(found, key=_place)

    async def of_source(self, source_id: str) -> Sequence[WorkflowRecord]:
        """Return what is read from a source, retired ones too."""
        where = {"source_id": source_id}
        found = [record async for record in self._found(where, order="by_source_id")]
        return [record for record in found if record.definition.status != "deleted"]

    async def named(self, name: str) -> Sequence[WorkflowRecord]:
        """Return the workflows of a name, retired ones too."""
        return [
            record
            for status in ("active", "retired")
            async for record in self._found({"status": status, "name": name}, order="by_name")
        ]

    async def at_version(self, workflow_id: str, version: int) -> WorkflowRecord:
        """Return a workflow as a version defined it, as a run that pinned it sees it.

        Raises:
            UnknownWorkflow: there is no such version.
        """
        events = await self._storage.read_stream(workflow_id, after=version - 1, limit=1)
        fact = fact_of(events[0]) if events else None
        if fact is None or not isinstance(fact.event, WorkflowDefined):
            raise UnknownWorkflow(f"{workflow_id}@{version}")
        return WorkflowRecord(
            id=workflow_id,
            definition=DefinedWorkflow(
                workflow=fact.event.workflow,
                origin=fact.event.origin,
                version=version,
                sort_order=fact.event.sort_order,
            ),
        )

    async def _found(
        self, where: Mapping[str, str | int], *, order: str
    ) -> AsyncIterator[WorkflowRecord]:
        after: Row | None = None
        while True:
            page = await self._storage.list_rows(
                WORKFLOW.name, where=where, order=order, after=after, limit=_PAGE
            )
            for row in page.rows:
                yield WorkflowRecord(id=str(row["id"]), definition=WORKFLOWS.state_of(row))
            if len(page.rows) < _PAGE:
                return
            after = page.rows[-1]


def living(workflow_id: str, found: DefinedWorkflow | None) -> WorkflowRecord:
    """Return a workflow that is there, active or retired.

    Raises:
        UnknownWorkflow: there is none of this id, or it was deleted.
    """
    if found is None or found.status == "deleted":
        raise UnknownWorkflow(workflow_id)
    return WorkflowRecord(id=workflow_id, definition=found)


def _place(record: WorkflowRecord) -> tuple[bool, int, str, str]:
    definition = record.definition
    order = definition.sort_order
    return order == 0, order, definition.workflow.name.casefold(), record.id


def instructions_of(workflow: DefinedWorkflow | None, step_id: str) -> str:
    """Return a workflow's words for a step of a chat: its own, then the step's."""
    if workflow is None:
        return ""
    step = workflow.workflow.step(step_id)
    words = (workflow.workflow.prompt, "" if step is None else step.prompt)
    return "\n\n".join(text for text in words if text)
