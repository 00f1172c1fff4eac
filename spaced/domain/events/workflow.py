"""The life of a workflow's definition."""

from spaced.domain.events.event import WorkflowEvent, event
from spaced.domain.json_values import JsonObject
from spaced.domain.workflow import Workflow


@event("workflow-defined")
class WorkflowDefined(WorkflowEvent):
    """The whole definition, at each change; the event's version is the workflow's version.

    Attributes:
        origin: `{source: builtin | local | synced}`, for synced ones also `source_id`, `path`,
            `line`, `commit` and `dirty`.
    """

    workflow: Workflow
    origin: JsonObject


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
