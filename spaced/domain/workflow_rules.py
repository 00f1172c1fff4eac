"""The rules that a workflow's steps hold among each other, whoever wrote or changed them.

What one step says by itself (which actions a trigger allows, what a config needs) says the schema
of portable files; here is what no schema can say.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spaced.domain.workflow import Step, Trigger, Workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A rule that does not hold.

    Attributes:
        code: stable name of the rule, in kebab-case.
        step_id: the step that breaks it.
        part: what of the step: a field, and for `triggers` the trigger and the action's place.
        message: what is wrong, without naming the step.
        remedy: what to do about it.
    """

    code: str
    step_id: str
    part: tuple[str | int, ...]
    message: str
    remedy: str


def faults_of(workflow: Workflow) -> Sequence[Fault]:
    """Return every rule that does not hold, step by step in the order in which they stand."""
    pulls = _pull_faults(workflow)
    return [
        fault
        for place, step in enumerate(workflow.steps)
        for fault in (
            *_position_faults(workflow, place),
            *(one for one in pulls if one.step_id == step.id),
            *_move_faults(workflow, step),
            *target_faults(workflow, step),
            *_exclusion_faults(step),
            *_configuration_faults(step),
        )
    ]


def _position_faults(workflow: Workflow, place: int) -> Iterator[Fault]:
    step = workflow.steps[place]
    twin = next((one for one in workflow.steps[:place] if one.position == step.position), None)
    if twin is not None:
        yield Fault(
            code="duplicate-position",
            step_id=step.id,
            part=("position",),
            message=f"position {step.position} is that of step {twin.name!r} already",
            remedy="give every step a position of its own",
        )


def _pull_faults(workflow: Workflow) -> list[Fault]:
    found: list[Fault] = []
    told: set[str] = set()
    for step in workflow.steps:
        source = step.pull_from_step_id
        if source is None or step.id in told:
            continue
        if source == step.id:
            fault = ("self-reference", "it pulls from itself", "name another step, or none")
        elif workflow.step(source) is None:
            fault = ("unknown-position", "the step that it pulls from does not exist", _NAME_ONE)
        elif circle := _circle(workflow, step):
            told |= circle
            fault = ("pull-cycle", "it pulls from itself through others", "break the circle")
        else:
            continue
        code, message, remedy = fault
        part = ("pull_from_step_id",)
        found.append(Fault(code=code, step_id=step.id, part=part, message=message, remedy=remedy))
    return found


_NAME_ONE: Final = "name a step of this workflow"


def _circle(workflow: Workflow, step: Step) -> set[str]:
    """Return the steps of the circle of pulls that a step stands in; none if there is none."""
    seen = [step.id]
    while True:
        at = workflow.step(seen[-1])
        following = None if at is None else at.pull_from_step_id
        if following is None or (following in seen and following != step.id):
            return set()
        if following == step.id:
            return set(seen)
        seen.append(following)


def _move_faults(workflow: Workflow, step: Step) -> Iterator[Fault]:
    for trigger, actions in step.triggers.items():
        for place, action in enumerate(actions):
            target = action.config.get("step_id")
            if action.type != "move_to_step" or not isinstance(target, str):
                continue
            if workflow.step(target) is None:
                yield Fault(
                    code="unknown-position",
                    step_id=step.id,
                    part=("triggers", trigger, place, "step_id"),
                    message="the step that it moves to does not exist",
                    remedy=_NAME_ONE,
                )


def target_faults(workflow: Workflow, step: Step) -> Iterator[Fault]:
    """Return what is wrong with the step's target: at most one thing."""
    target = step.session_target
    if target is None or target.kind != "step" or target.step_id is None:
        return
    source = workflow.step(target.step_id)
    if source is None:
        code, message, remedy = (
            "unknown-position",
            "the step of its target does not exist",
            _NAME_ONE,
        )
    elif source.position >= step.position:
        code = "bad-target"
        what = "itself" if source.id == step.id else f"step {source.name!r}, which comes later"
        message, remedy = f"its target is {what}", "name an earlier step"
    elif source.session_target is not None:
        code, message = "bad-target", f"step {source.name!r}, its target, has a target itself"
        remedy = "name the step that has the profile"
    elif not has_profile(source):
        code, message = "bad-target", f"step {source.name!r}, its target, has no profile of its own"
        remedy = "give that step an agent_profile, or name another one"
    else:
        return
    yield Fault(
        code=code, step_id=step.id, part=("session_target",), message=message, remedy=remedy
    )


def _exclusion_faults(step: Step) -> Iterator[Fault]:
    if step.session_target is not None and has_profile(step):
        yield Fault(
            code="exclusive-keys",
            step_id=step.id,
            part=("session_target",),
            message="it has a session_target and an agent_profile",
            remedy="keep one of them",
        )
    for trigger, place in _configurations(step):
        other = "session_target" if step.session_target is not None else "agent_profile"
        if step.session_target is not None or has_profile(step):
            yield Fault(
                code="exclusive-keys",
                step_id=step.id,
                part=("triggers", trigger, place),
                message=f"it has configure_session and {other}",
                remedy="keep one of them",
            )
            return


def _configuration_faults(step: Step) -> Iterator[Fault]:
    for count, (trigger, place) in enumerate(_configurations(step)):
        part = ("triggers", trigger, place)
        if count:
            yield Fault(
                code="bad-configuration",
                step_id=step.id,
                part=part,
                message="it has configure_session more than once",
                remedy="put all rules into one",
            )
        rules = step.triggers[trigger][place].config.get("rules")
        names = [str(rule.get("agent_name")) for rule in _objects(rules)]
        for twice in [name for name, times in Counter(names).items() if times > 1]:
            again = [number for number, name in enumerate(names) if name == twice][1]
            yield Fault(
                code="bad-configuration",
                step_id=step.id,
                part=(*part, "rules", again, "agent_name"),
                message=f"configure_session has two rules for {twice!r}",
                remedy="keep one rule for each agent",
            )


def _configurations(step: Step) -> list[tuple[Trigger, int]]:
    return [
        (trigger, place)
        for trigger, actions in step.triggers.items()
        for place, action in enumerate(actions)
        if action.type == "configure_session"
    ]


def _objects(value: object) -> list[dict[str, object]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def has_profile(step: Step) -> bool:
    """Tell whether the step names a profile itself, bound or not."""
    return step.profile is not None or step.profile_id is not None
