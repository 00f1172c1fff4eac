"""The life of a workflow's definition."""

from spaced.domain.events.event import WorkflowEvent, event
from spaced.domain.json_values import JsonObject
from spaced.domain.workflow import Workflow
from spaced.domain.workflow_changes import WorkflowChanges


@event("workflow-defined")
class WorkflowDefined(WorkflowEvent):
    """The whole definition, at each change; the event's version is the workflow's version.

    Attributes:
        origin: `{source: builtin | local | synced}`; for synced ones also `source_id`, `path`,
            `file`, `line`, `commit` and `dirty`; for built-in ones also `digest`, and `edited`.
        changes: how it differs from the version before.
        sort_order: its place among all workflows, from 1; 0 is behind all that have one.
    """

    workflow: Workflow
    origin: JsonObject
    changes: WorkflowChanges | None = None
    sort_order: int = 0


@event("workflow-retired")
class WorkflowRetired(WorkflowEvent):
    """The file that defined it is gone: hidden and not startable until it returns."""

    reason: str


@event("workflow-deleted")
class WorkflowDeleted(WorkflowEvent):
    """A person deleted the workflow."""


@event("workflow-released")
class WorkflowReleased(WorkflowEvent):
    """Its sync source was removed; it is a local workflow from now on."""
