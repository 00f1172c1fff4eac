"""The workflow model: order, start, references and the closed lists of words."""

from typing import get_args

import pytest

from spaced.domain.workflow import (
    EXECUTED_TRIGGERS,
    MOVES,
    TRIGGERS,
    Action,
    ActionType,
    Step,
    Workflow,
)


def _step(step_id: str, position: int, *, starts: bool = False) -> Step:
    return Step(id=step_id, name=step_id.upper(), position=position, is_start_step=starts)


def test_steps_are_ordered_by_position_alone() -> None:
    """Neither ids nor the order of writing count; gaps and negative positions are fine."""
    workflow = Workflow(name="W", steps=(_step("a", 30), _step("b", -1), _step("c", 7)))

    assert [step.id for step in workflow.in_order()] == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("steps", "start"),
    [
        ([], None),
        ([_step("a", 2), _step("b", 1)], "b"),
        ([_step("a", 2, starts=True), _step("b", 1)], "a"),
        ([_step("a", 2, starts=True), _step("b", 1, starts=True)], "a"),
        ([_step("a", 1, starts=True), _step("b", 2, starts=True), _step("c", 3)], "b"),
    ],
)
def test_a_run_starts_in_the_last_marked_step_or_in_the_first(
    steps: list[Step], start: str | None
) -> None:
    """Files that mark several steps mean the last one of them."""
    found = Workflow(name="W", steps=tuple(steps)).start_step()

    assert (found.id if found else None) == start


def test_a_step_is_found_by_its_id() -> None:
    """A step that the workflow does not have is none, and no error."""
    workflow = Workflow(name="W", steps=(_step("a", 1), _step("b", 2)))

    assert workflow.step("b") == _step("b", 2)
    assert workflow.step("B") is None


@pytest.mark.parametrize("action", get_args(ActionType))
def test_exactly_three_actions_are_moves(action: ActionType) -> None:
    """The first satisfied move wins, so what is a move must be certain."""
    assert Action(type=action).is_move is action.startswith("move_to_")


def test_the_moves_are_the_agreed_ones() -> None:
    """Portable files use these words."""
    assert {"move_to_next", "move_to_previous", "move_to_step"} == MOVES


def test_the_engine_acts_on_four_of_the_triggers() -> None:
    """The others are kept and exported, so they must be known too."""
    assert {"on_enter", "on_turn_start", "on_turn_complete", "on_exit"} == EXECUTED_TRIGGERS
    assert set(TRIGGERS) > EXECUTED_TRIGGERS
    assert len(set(TRIGGERS)) == len(TRIGGERS) == 11


def test_a_plain_step_has_harmless_settings() -> None:
    """Nothing starts, archives, limits or completes by itself; sessions are reused and parked."""
    step = _step("a", 1)

    assert (step.start_policy, step.end_policy) == ("reuse", "park")
    assert (step.wip_limit, step.auto_archive_after_hours) == (0, 0)
    assert step.triggers == {}
    assert not step.complete_task_on_enter
    assert not step.auto_advance_requires_signal
