"""Rewrites the ids inside of a workflow: for copies, and for what is read from files."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from spaced.domain.workflow import Action, SessionTarget, Step, Workflow


def with_step_ids(workflow: Workflow, ids: Mapping[str, str]) -> Workflow:
    """Return the workflow with other step ids, in its steps and in everything that names one.

    Args:
        ids: the new id of each step; one that is not named stays.
    """

    def new(step_id: str) -> str:
        return ids.get(step_id, step_id)

    steps = tuple(_renamed(step, new) for step in workflow.steps)
    return replace(workflow, steps=steps)


def _renamed(step: Step, new: Callable[[str], str]) -> Step:
    target, pulls = step.session_target, step.pull_from_step_id
    return replace(
        step,
        id=new(step.id),
        triggers={
            trigger: tuple(_action(action, new) for action in actions)
            for trigger, actions in step.triggers.items()
        },
        session_target=None if target is None else _target(target, new),
        pull_from_step_id=None if pulls is None else new(pulls),
    )


def _action(action: Action, new: Callable[[str], str]) -> Action:
    step_id = action.config.get("step_id")
    if not isinstance(step_id, str):
        return action
    return replace(action, config={**action.config, "step_id": new(step_id)})


def _target(target: SessionTarget, new: Callable[[str], str]) -> SessionTarget:
    if target.step_id is None:
        return target
    return replace(target, step_id=new(target.step_id))


def dependents(workflow: Workflow, step_id: str) -> dict[str, tuple[Step, ...]]:
    """Return the other steps that name a step: under `target`, `move` and `pull`."""
    others = [step for step in workflow.steps if step.id != step_id]
    return {
        "target": tuple(one for one in others if _targets(one, step_id)),
        "move": tuple(one for one in others if _moves_to(one, step_id)),
        "pull": tuple(one for one in others if one.pull_from_step_id == step_id),
    }


def _targets(step: Step, step_id: str) -> bool:
    return step.session_target is not None and step.session_target.step_id == step_id


def _moves_to(step: Step, step_id: str) -> bool:
    return any(
        action.type == "move_to_step" and action.config.get("step_id") == step_id
        for actions in step.triggers.values()
        for action in actions
    )
