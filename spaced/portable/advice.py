"""What is allowed, but probably not meant: the warnings about a workflow that could be used."""

from collections.abc import Iterator, Mapping
from typing import Final

from spaced.domain.workflow import EXECUTED_ACTIONS, EXECUTED_TRIGGERS, Step, Workflow
from spaced.domain.workflow_paths import (
    automatic_cycles,
    has_quorum,
    moves_of,
    starts_agent,
    unreachable,
)
from spaced.portable.reading import step_place
from spaced.portable.schema_gate import Refusal
from spaced.portable.tree import Path


def advice(workflow: Workflow, path: Path) -> Iterator[Refusal]:
    """Yield the warnings about the workflow at a path."""
    paths = {step.id: (*path, "steps", step_place(step.id)) for step in workflow.steps}
    for step in workflow.steps:
        yield from _of_step(step, paths[step.id])
        yield from _of_target(workflow, step, paths[step.id])
    for step in unreachable(workflow):
        yield _warning(
            paths[step.id],
            "unreachable-step",
            "no run can come to this step",
            "let a move lead to it, or set `allow_manual_move: true`",
        )
    for circle in automatic_cycles(workflow):
        names = " → ".join(repr(step.name) for step in (*circle, circle[0]))
        yield _warning(
            (*paths[circle[0].id], "events", "on_turn_complete"),
            "automatic-cycle",
            f"runs go round without a person: {names}",
            "let one of these moves have `requires_approval: true`",
        )
    yield from _of_starts(workflow, paths)
    yield from _of_names(workflow, paths)


def _warning(path: Path, code: str, message: str, remedy: str) -> Refusal:
    return Refusal(path=path, code=code, message=message, remedy=remedy)


def _of_step(step: Step, path: Path) -> Iterator[Refusal]:
    if step.prompt.strip() and not starts_agent(step):
        yield _warning(
            (*path, "prompt"),
            "prompt-without-start",
            "it has a prompt, but entering it prompts nobody",
            "add `auto_start_agent` to `on_enter`, or remove the prompt",
        )
    for trigger, actions in step.triggers.items():
        at = (*path, "events", trigger)
        if trigger not in EXECUTED_TRIGGERS:
            yield _warning(at, "not-executed", f"{trigger} is kept, but not executed here", _KEEP)
        for place, action in enumerate(actions):
            if action.type not in EXECUTED_ACTIONS:
                message = f"{action.type} is kept, but not executed here"
                yield _warning((*at, place), "not-executed", message, _KEEP)
    for trigger, place, move in moves_of(step):
        if has_quorum(move):
            yield _warning(
                (*path, "events", trigger, place),
                "not-executed",
                "wait_for_quorum is kept, but never satisfied here",
                "use `requires_approval: true` to let a person decide",
            )


_KEEP: Final = "leave it if the file is used elsewhere too, else remove it"


def _of_target(workflow: Workflow, step: Step, path: Path) -> Iterator[Refusal]:
    target = step.session_target
    if target is None or step.start_policy != "reuse":
        return
    source = workflow.start_step() if target.kind == "initial" else None
    if target.step_id is not None:
        source = workflow.step(target.step_id)
    if source is not None and source.id != step.id and source.end_policy == "complete":
        yield _warning(
            (*path, "session_target"),
            "source-completes",
            f"the session of step {source.name!r} is completed when the run leaves it, "
            "so this step begins a new one",
            f"set `profile_session_end_policy: park` in step {source.name!r}",
        )


def _of_starts(workflow: Workflow, paths: Mapping[str, Path]) -> Iterator[Refusal]:
    starts = [step for step in workflow.in_order() if step.is_start_step]
    for step in starts[:-1]:
        yield _warning(
            (*paths[step.id], "is_start_step"),
            "several-start-steps",
            f"runs begin in step {starts[-1].name!r}, the last one that is marked so",
            "mark one step only",
        )


def _of_names(workflow: Workflow, paths: Mapping[str, Path]) -> Iterator[Refusal]:
    seen: set[str] = set()
    for step in workflow.steps:
        if step.name in seen:
            yield _warning(
                (*paths[step.id], "name"),
                "duplicate-step-name",
                f"two steps are called {step.name!r}, so sync cannot tell them apart",
                "give every step a name of its own",
            )
        seen.add(step.name)
