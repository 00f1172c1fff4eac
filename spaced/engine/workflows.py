"""Workflows as the engine needs them: the built-in ones exist, and the newest version is read."""

import logging

from spaced.domain.builtin_workflows import BUILTIN_WORKFLOWS
from spaced.domain.definitions import DefinedWorkflow
from spaced.domain.events.workflow import WorkflowDefined
from spaced.engine.journal import Entry, Journal, Statement
from spaced.errors import StaleVersion, StorageFull
from spaced.log.read_models.definitions import WORKFLOW, WORKFLOWS
from spaced.storage.protocol import Storage

log = logging.getLogger(__name__)


class Workflows:
    """Reads workflows from their rows."""

    def __init__(self, storage: Storage, journal: Journal) -> None:
        self._storage = storage
        self._journal = journal

    async def ensure_builtin(self) -> None:
        """Record the built-in workflows that the log lacks; what is there is left alone."""
        for workflow_id, workflow in BUILTIN_WORKFLOWS.items():
            if await self.newest(workflow_id) is not None:
                continue
            defined = WorkflowDefined(workflow=workflow, origin={"source": "builtin"})
            entry = Entry(
                stream=workflow_id, expected_version=0, statements=[Statement(event=defined)]
            )
            try:
                await self._journal.append(entry)
            except StaleVersion:
                continue  # it was there and is damaged, or somebody was faster
            except StorageFull:
                log.warning("there is no space to record the built-in workflow %s", workflow_id)

    async def newest(self, workflow_id: str) -> DefinedWorkflow | None:
        """Return a workflow in its newest version."""
        rows = (await self._storage.get_rows(WORKFLOW.name, [(workflow_id,)])).rows
        return WORKFLOWS.state_of(rows[0]) if rows else None


def instructions_of(workflow: DefinedWorkflow | None, step_id: str) -> str:
    """Return a workflow's words for a step of a chat: its own, then the step's."""
    if workflow is None:
        return ""
    step = workflow.workflow.step(step_id)
    words = (workflow.workflow.prompt, "" if step is None else step.prompt)
    return "\n\n".join(text for text in words if text)
