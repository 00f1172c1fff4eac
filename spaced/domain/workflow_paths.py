"""The ways on which runs walk through a workflow: which steps lead to which, and by whom."""

from collections.abc import Iterator
from typing import Final

from spaced.domain.workflow import Action, Step, Trigger, Workflow

DONE_NAMES: Final = frozenset({"done", "complete", "completed", "approved"})
"""Names, in lower case, by which version 1 tells the step that finishes a run."""


def terminal_by_name(workflow: Workflow) -> Step | None:
    """Return the step that version 1 takes for the one that finishes a run."""
    ordered = workflow.in_order()
    is_done = bool(ordered) and ordered[-1].name.strip().lower() in DONE_NAMES
    return ordered[-1] if is_done else None


def destination(workflow: Workflow, step: Step, move: Action) -> Step | None:
    """Return where a move leads from a step; `None` beyond the first and the last one."""
    if move.type == "move_to_step":
        return workflow.step(str(move.config.get("step_id")))
    ordered = workflow.in_order()
    at = next((place for place, one in enumerate(ordered) if one.id == step.id), None)
    if at is None:
        return None
    to = at + (1 if move.type == "move_to_next" else -1)
    return ordered[to] if 0 <= to < len(ordered) else None


def moves_of(step: Step) -> Iterator[tuple[Trigger, int, Action]]:
    """Return all moves of a step, with their trigger and their place in it."""
    for trigger, actions in step.triggers.items():
        for place, action in enumerate(actions):
            if action.is_move:
                yield trigger, place, action


def has_quorum(move: Action) -> bool:
    """Tell whether a move waits for decisions; nothing here satisfies it."""
    condition = move.config.get("if")
    return isinstance(condition, dict) and condition.get("wait_for_quorum") is not None


def automatic_move(step: Step) -> Action | None:
    """Return the move that the end of a turn causes without a person."""
    return next(
        (
            action
            for action in step.triggers.get("on_turn_complete", ())
            if action.is_move
            and action.config.get("requires_approval") is not True
            and not has_quorum(action)
        ),
        None,
    )


def starts_agent(step: Step) -> bool:
    """Tell whether entering the step prompts the agent."""
    return any(action.type == "auto_start_agent" for action in step.triggers.get("on_enter", ()))


def unreachable(workflow: Workflow) -> list[Step]:
    """Return the steps that no run can come to: neither its start, nor by a move or a person."""
    start = workflow.start_step()
    reached = {
        to.id
        for step in workflow.steps
        for _, _, move in moves_of(step)
        if (to := destination(workflow, step, move)) is not None and to.id != step.id
    }
    return [
        step
        for step in workflow.steps
        if step.id not in reached
        and not step.allow_manual_move
        and (start is None or step.id != start.id)
    ]


def automatic_cycles(workflow: Workflow) -> list[tuple[Step, ...]]:
    """Return the circles of automatic moves in which an agent is started: nobody stops them."""
    following = {step.id: _automatic_successor(workflow, step) for step in workflow.steps}
    circles: list[tuple[Step, ...]] = []
    seen: set[str] = set()
    for step in workflow.in_order():
        walk: list[Step] = []
        at: Step | None = step
        while at is not None and at.id not in seen:
            seen.add(at.id)
            walk.append(at)
            at = following[at.id]
        if at is not None and at in walk:
            circle = tuple(walk[walk.index(at) :])
            if any(starts_agent(one) for one in circle):
                circles.append(circle)
    return circles


def _automatic_successor(workflow: Workflow, step: Step) -> Step | None:
    move = automatic_move(step)
    return None if move is None else destination(workflow, step, move)
