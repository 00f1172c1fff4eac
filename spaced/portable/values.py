"""Workflows as the values of a portable document: the form that is written, and checked."""

from collections.abc import Callable, Sequence
from typing import Final

from spaced.domain.json_values import copy_json
from spaced.domain.workflow import (
    TRIGGERS,
    Action,
    ProfileDescriptor,
    SessionTarget,
    Step,
    Workflow,
)
from spaced.domain.workflow_paths import terminal_by_name
from spaced.portable.keys import CONFIG
from spaced.portable.schemas import Version

TYPE: Final = "kandev_workflow"


def document_value(workflows: Sequence[Workflow]) -> dict[str, object]:
    """Return the document of some workflows, in the oldest version that can say it all.

    A reference to a step that is not there is left out; nothing that was checked has one.
    """
    version = version_needed(workflows)
    return {
        "version": version,
        "type": TYPE,
        "workflows": [_workflow(one, version) for one in workflows],
    }


def version_needed(workflows: Sequence[Workflow]) -> Version:
    """Return 2 if a step has a target, or finishes runs otherwise than its name says; else 1."""
    return 2 if any(_needs_version_2(workflow) for workflow in workflows) else 1


def _needs_version_2(workflow: Workflow) -> bool:
    terminal = terminal_by_name(workflow)
    return any(
        step.session_target is not None or step.complete_task_on_enter is not (step is terminal)
        for step in workflow.steps
    )


def _workflow(workflow: Workflow, version: Version) -> dict[str, object]:
    positions = {step.id: step.position for step in workflow.steps}
    return {
        "name": workflow.name,
        **_unless_empty("description", workflow.description),
        **_unless_empty("prompt", workflow.prompt),
        **_unless_empty("agent_profile", _descriptor(workflow.profile)),
        "steps": [step_value(step, positions.get, version) for step in workflow.in_order()],
    }


def step_value(
    step: Step, position_of: Callable[[str], int | None], version: Version
) -> dict[str, object]:
    """Return a step as documents have it.

    Args:
        position_of: the position of a step that is referred to.
    """
    pulls = step.pull_from_step_id
    return {
        "name": step.name,
        "position": step.position,
        **_unless_empty("color", step.color),
        **_unless_empty("prompt", step.prompt),
        **_unless_empty("events", _events(step, position_of)),
        "is_start_step": step.is_start_step,
        "show_in_command_panel": step.show_in_command_panel,
        "allow_manual_move": step.allow_manual_move,
        **_unless_empty("auto_archive_after_hours", step.auto_archive_after_hours),
        **_unless_empty("agent_profile", _descriptor(step.profile)),
        **_unless_empty("session_target", _target(step.session_target, position_of)),
        **({"profile_session_start_policy": "new"} if step.start_policy == "new" else {}),
        **({"profile_session_end_policy": "complete"} if step.end_policy == "complete" else {}),
        "auto_advance_requires_signal": step.auto_advance_requires_signal,
        "cancel_triggers_turn_complete": step.cancel_triggers_turn_complete,
        # Version 1 tells it by the step's name, which is why it is of version 1.
        **({"complete_task_on_enter": True} if _says_terminal(step, version) else {}),
        **_unless_empty("wip_limit", step.wip_limit),
        # Position 0 is a step like any other, so this is not left out for being empty.
        **({} if pulls is None else _known("pull_from_step_position", position_of(pulls))),
    }


def _says_terminal(step: Step, version: Version) -> bool:
    return version == 2 and step.complete_task_on_enter  # noqa: PLR2004 - it is the version


def _events(step: Step, position_of: Callable[[str], int | None]) -> dict[str, object]:
    others = [trigger for trigger in step.triggers if trigger not in TRIGGERS]
    return {
        trigger: [_action(action, position_of) for action in step.triggers[trigger]]
        for trigger in (*TRIGGERS, *others)
        if step.triggers.get(trigger)
    }


def _action(action: Action, position_of: Callable[[str], int | None]) -> dict[str, object]:
    config: dict[str, object] = {}
    given = dict(action.config)
    step_id = given.pop("step_id", None)
    if step_id is not None:
        config |= _known("step_position", position_of(str(step_id)))
    order = CONFIG.get(action.type, ())
    for key in (
        *(key for key in order if key in given),
        *(key for key in given if key not in order),
    ):
        config[key] = copy_json(given[key])
    return {"type": action.type, **_unless_empty("config", config)}


def _descriptor(descriptor: ProfileDescriptor | None) -> dict[str, object]:
    if descriptor is None:
        return {}
    return {
        "agent_name": descriptor.agent_name,
        "model": descriptor.model,
        "mode": descriptor.mode,
    }


def _target(
    target: SessionTarget | None, position_of: Callable[[str], int | None]
) -> dict[str, object]:
    if target is None:
        return {}
    if target.step_id is None:
        return {"kind": target.kind}
    return {"kind": target.kind, **_known("step_position", position_of(target.step_id))}


def _known(key: str, position: int | None) -> dict[str, object]:
    return {} if position is None else {key: position}


def _unless_empty(key: str, value: object) -> dict[str, object]:
    return {key: value} if value else {}
