"""Frames that are derived from one durable event: a new version of a workflow, step by step.

They go out before the event itself, and only the last frame carries the cursor: whoever is cut off
in between gets all of them again, and none is lost. Each tells the version that it belongs to.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from spaced.api.streams import frames
from spaced.api.workflow_presenting import step_fields
from spaced.domain.event_codec import CODEC
from spaced.domain.events.workflow import WorkflowDefined
from spaced.errors import InvalidBody
from spaced.log.record import RecordedEvent

STEP_CREATED: Final = "workflow-step-created"
STEP_UPDATED: Final = "workflow-step-updated"
STEP_DELETED: Final = "workflow-step-deleted"


def frames_of(event: RecordedEvent, log_id: str, kinds: frozenset[str] | None) -> bytes:
    """Return the frames of a durable event.

    Args:
        kinds: the names that are wanted; `None` is all.
    """
    if event.kind != WorkflowDefined.kind:
        return frames.event_frame(event, log_id)
    told = [one for one in _steps_of(event) if kinds is None or one[0] in kinds]
    if kinds is None or event.kind in kinds:
        last = frames.event_frame(event, log_id)
        return b"".join(frames.told(name, data) for name, data in told) + last
    cursor = f"{log_id}.{event.position}"
    return b"".join(
        frames.told(name, data, cursor if place == len(told) else None)
        for place, (name, data) in enumerate(told, start=1)
    )


def _steps_of(event: RecordedEvent) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        defined = CODEC.decode(event.kind, event.body)
    except InvalidBody:
        return  # the event itself is told as it stands; `spaced doctor` names it
    if not isinstance(defined, WorkflowDefined) or defined.changes is None:
        return
    changes, workflow = defined.changes, defined.workflow
    about = {"workflow_id": event.stream, "workflow_version": event.version}
    demoted = [step_fields(step) for step in changes.demoted(workflow)]
    for step in workflow.in_order():
        if step.id in changes.created:
            told = {"step": step_fields(step), "demoted_start_steps": demoted}
            yield STEP_CREATED, {**about, **told}
        elif step.id in changes.updated:
            told = {"step": step_fields(step), "demoted_start_steps": demoted}
            yield STEP_UPDATED, {**about, "fields": changes.updated[step.id], **told}
    for step in changes.removed:
        yield STEP_DELETED, {**about, "step": step_fields(step)}
