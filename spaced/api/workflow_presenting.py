"""Between workflows as the engine knows them and the shapes of the API, in both directions."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final, cast

from msgspec import UNSET, structs, to_builtins

from spaced.domain.json_values import copy_object
from spaced.domain.profile_binding import Binding
from spaced.domain.workflow import (
    Action,
    ProfileDescriptor,
    SessionTarget,
    Step,
    Trigger,
    Workflow,
)
from spaced.engine.workflows.bindings import KnownProfiles
from spaced.engine.workflows.reading import WorkflowRecord
from spaced.portable.findings import Finding
from spaced.wire import workflow_requests as requests
from spaced.wire import workflow_shapes as shapes

_RENAMED: Final = {
    "profile_session_start_policy": "start_policy",
    "profile_session_end_policy": "end_policy",
    "events": "triggers",
}
"""Fields whose names in portable files, which the API shares, are not the domain's."""

_EMPTY: Final = Step(id="", name="", position=0)
_CLEARED: Final[Mapping[str, Any]] = {
    one.name: getattr(_EMPTY, one.name)
    for one in fields(Step)
    if one.name not in ("id", "name", "position", "profile", "profile_id")
}
"""What a field is once it is cleared."""


def step_fields(step: Step) -> dict[str, Any]:
    """Return what a step says by itself, as the API writes it."""
    return {
        "id": step.id,
        "name": step.name,
        "position": step.position,
        "color": step.color,
        "prompt": step.prompt,
        "events": {
            trigger: [
                {"type": action.type, "config": copy_object(action.config)} for action in actions
            ]
            for trigger, actions in step.triggers.items()
        },
        "is_start_step": step.is_start_step,
        "show_in_command_panel": step.show_in_command_panel,
        "allow_manual_move": step.allow_manual_move,
        "auto_archive_after_hours": step.auto_archive_after_hours,
        "agent_profile_id": step.profile_id,
        "agent_profile": to_builtins(step.profile),
        "session_target": to_builtins(step.session_target),
        "profile_session_start_policy": step.start_policy,
        "profile_session_end_policy": step.end_policy,
        "auto_advance_requires_signal": step.auto_advance_requires_signal,
        "cancel_triggers_turn_complete": step.cancel_triggers_turn_complete,
        "complete_task_on_enter": step.complete_task_on_enter,
        "wip_limit": step.wip_limit,
        "pull_from_step_id": step.pull_from_step_id,
    }


def step_shape(
    record: WorkflowRecord, step: Step, known: KnownProfiles, demoted: Sequence[Step] = ()
) -> shapes.Step:
    """Return a step as clients see it.

    Args:
        demoted: steps that are no start step any more.
    """
    told = step_fields(step)
    return shapes.Step(
        **told | _bound(step, known.of(step)),
        workflow_id=record.id,
        revision=record.revision,
        demoted_start_steps=tuple(step_fields(one) for one in demoted),
    )


def workflow_shape(record: WorkflowRecord, known: KnownProfiles) -> shapes.Workflow:
    """Return a workflow as clients see it."""
    definition = record.definition
    workflow = definition.workflow
    return shapes.Workflow(
        **_bound(workflow, known.of(workflow)),
        id=record.id,
        revision=record.revision,
        status=definition.status,
        source=definition.source,  # type: ignore[arg-type]  # only we write it
        origin=copy_object(definition.origin),
        sort_order=definition.sort_order,
        name=workflow.name,
        description=workflow.description,
        prompt=workflow.prompt,
        agent_profile=to_builtins(workflow.profile),
        steps=tuple(step_shape(record, step, known) for step in workflow.in_order()),
    )


def _bound(owner: Step | Workflow, binding: Binding) -> dict[str, Any]:
    names_one = owner.profile is not None or owner.profile_id is not None
    is_bound = binding.profile_id is not None
    return {
        "agent_profile_id": binding.profile_id,
        "profile_status": ("bound" if is_bound else "unbound") if names_one else "none",
        "profile_candidates": binding.candidates,
    }


def finding_shape(finding: Finding) -> shapes.CheckFinding:
    """Return a finding as clients see it."""
    return shapes.CheckFinding(
        line=finding.line,
        column=finding.column,
        severity=finding.severity,
        code=finding.code,
        where=finding.where,
        message=finding.message,
        remedy=finding.remedy,
    )


def descriptor_of(said: requests.Descriptor) -> ProfileDescriptor:
    """Return the descriptor that a request names."""
    return ProfileDescriptor(agent_name=said.agent_name, model=said.model, mode=said.mode)


def new_step(said: requests.NewStep, *, step_id: str, position: int) -> Step:
    """Return the step that a request describes.

    Args:
        position: for a request that names none.
    """
    given = {name: getattr(said, name) for name in said.__struct_fields__}
    del given["id"], given["position"], given["name"]
    at = position if said.position is None else said.position
    return Step(id=step_id, name=said.name, position=at, **_in_domain(given))


def step_changes(said: requests.StepChanges) -> dict[str, Any]:
    """Return the fields of a step that a request changes, cleared ones with what they are then."""
    given = {name: getattr(said, name) for name in said.__struct_fields__}
    return _in_domain({name: value for name, value in given.items() if value is not UNSET})


def workflow_changes(said: requests.WorkflowChanges) -> dict[str, Any]:
    """Return the fields of a workflow that a request changes."""
    given = {n: v for n, v in _fields_of(said).items() if v is not UNSET}
    changes = _profile(given)
    return {
        name: "" if value is None and name not in _PROFILE else value
        for name, value in changes.items()
    }


def new_workflow(said: requests.NewWorkflow, name: str, steps: Sequence[Step]) -> Workflow:
    """Return the workflow that a request describes."""
    owner = _profile(
        {"agent_profile_id": said.agent_profile_id, "agent_profile": said.agent_profile}
    )
    return Workflow(
        name=name,
        description=said.description,
        prompt=said.prompt,
        steps=tuple(steps),
        **owner,
    )


_PROFILE: Final = ("profile", "profile_id")


def _fields_of(said: Any) -> dict[str, Any]:
    return {name: getattr(said, name) for name in structs.asdict(said)}


def _in_domain(given: dict[str, Any]) -> dict[str, Any]:
    changes = {_RENAMED.get(name, name): value for name, value in _profile(given).items()}
    for name, value in changes.items():
        if value is None and name in _CLEARED:
            changes[name] = _CLEARED[name]
        elif name == "triggers":
            changes[name] = _triggers(value)
        elif name == "session_target":
            changes[name] = SessionTarget(kind=value.kind, step_id=value.step_id)
    return changes


def _profile(given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with one way to name a profile: naming it anew replaces the other way."""
    changes = dict(given)
    profile_id = changes.pop("agent_profile_id", UNSET)
    said = changes.pop("agent_profile", UNSET)
    if profile_id is not UNSET or said is not UNSET:
        changes["profile_id"] = None if profile_id is UNSET else profile_id
        changes["profile"] = None if said in (UNSET, None) else descriptor_of(said)
    return changes


def _triggers(said: requests.Events) -> Mapping[Trigger, tuple[Action, ...]]:
    # Which triggers and actions there are is for the gate to say, in words and for all at once.
    return {
        cast("Trigger", trigger): tuple(
            Action(type=one.type, config=one.config or {})  # type: ignore[arg-type]
            for one in actions
        )
        for trigger, actions in said.items()
        if actions
    }
