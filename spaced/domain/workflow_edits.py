"""How a person changes a workflow: each edit gives a whole new one, or is refused.

A rule that the edited step itself would break is the caller's mistake; one that another step would
break, because it refers to the edited one, is a conflict that names every such step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from spaced.domain.workflow import Step, Workflow
from spaced.domain.workflow_references import dependents
from spaced.domain.workflow_rules import target_faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependent:
    """A step that refers to another one, and why that one must stay as it is."""

    step: Step
    why: str


def add_step(workflow: Workflow, step: Step) -> Workflow:
    """Return the workflow with one step more; if it is a start step, it is the only one."""
    return _only_start(replace(workflow, steps=(*workflow.steps, step)), step)


def change_step(workflow: Workflow, step_id: str, changes: Mapping[str, object]) -> Workflow:
    """Return the workflow with a step changed.

    Args:
        changes: the step's fields that are to be different; a new start step demotes the others.
    """
    changed = {
        step.id: replace(step, **changes) if step.id == step_id else step  # type: ignore[arg-type]
        for step in workflow.steps
    }
    after = replace(workflow, steps=tuple(changed.values()))
    return _only_start(after, changed[step_id]) if changes.get("is_start_step") else after


def remove_step(workflow: Workflow, step_id: str) -> Workflow:
    """Return the workflow without a step."""
    return replace(workflow, steps=tuple(one for one in workflow.steps if one.id != step_id))


def reorder_steps(workflow: Workflow, step_ids: Sequence[str]) -> Workflow:
    """Return the workflow with its steps in another order, on the positions that there are.

    Args:
        step_ids: every step once.
    """
    positions = sorted(step.position for step in workflow.steps)
    to = dict(zip(step_ids, positions, strict=True))
    moved = tuple(replace(step, position=to[step.id]) for step in workflow.steps)
    return replace(workflow, steps=moved)


def one_start(workflow: Workflow) -> Workflow:
    """Return the workflow with one start step at most: a later one demotes those before it."""
    start = workflow.start_step()
    if start is None or not start.is_start_step:
        return workflow
    return _only_start(workflow, start)


def broken_dependents(before: Workflow, after: Workflow) -> Sequence[Dependent]:
    """Return the steps that an edit of others would leave with a reference that does not hold."""
    found: list[Dependent] = []
    gone = [step for step in before.steps if after.step(step.id) is None]
    for step in gone:
        for kind, others in dependents(after, step.id).items():
            words = {"target": "its target is", "move": "it moves to", "pull": "it pulls from"}
            found += [Dependent(step=one, why=f"{words[kind]} {step.name!r}") for one in others]
    for step in after.in_order():
        old = before.step(step.id)
        if old is None or step.session_target is None or step.session_target != old.session_target:
            continue
        if step.session_target.step_id in {one.id for one in gone}:
            continue
        was_broken = any(target_faults(before, old))
        faults = [] if was_broken else list(target_faults(after, step))
        found += [Dependent(step=step, why=fault.message) for fault in faults]
    return found


def _only_start(workflow: Workflow, start: Step) -> Workflow:
    if not start.is_start_step:
        return workflow
    return replace(
        workflow,
        steps=tuple(
            replace(step, is_start_step=False)
            if step.is_start_step and step.id != start.id
            else step
            for step in workflow.steps
        ),
    )
