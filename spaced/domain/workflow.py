"""The workflow model: ordered steps with triggers, recipients and lifecycle policies.

Inside spaced references are ids; positions are only how people order steps and how portable files
name them. The portable format's own shapes live in its translator.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from spaced.domain.json_values import JsonObject

Trigger = Literal[
    "on_enter",
    "on_turn_start",
    "on_turn_complete",
    "on_exit",
    "on_comment",
    "on_blocker_resolved",
    "on_children_completed",
    "on_approval_resolved",
    "on_heartbeat",
    "on_budget_alert",
    "on_agent_error",
]
TRIGGERS: Final[tuple[Trigger, ...]] = get_args(Trigger)

EXECUTED_TRIGGERS: Final[frozenset[Trigger]] = frozenset(
    {"on_enter", "on_turn_start", "on_turn_complete", "on_exit"}
)
"""The triggers that the engine acts on; the others are kept and exported."""

ActionType = Literal[
    "auto_start_agent",
    "enable_plan_mode",
    "disable_plan_mode",
    "reset_agent_context",
    "set_session_mode",
    "configure_session",
    "run_code_review",
    "move_to_next",
    "move_to_previous",
    "move_to_step",
    "queue_run",
    "queue_run_for_each_participant",
    "clear_decisions",
    "run_script",
    "ensure_participant_seat",
]
MOVES: Final[frozenset[ActionType]] = frozenset(
    {"move_to_next", "move_to_previous", "move_to_step"}
)

EXECUTED_ACTIONS: Final[frozenset[ActionType]] = MOVES | {
    "auto_start_agent",
    "enable_plan_mode",
    "disable_plan_mode",
    "reset_agent_context",
    "set_session_mode",
    "configure_session",
}
"""The actions that the engine carries out; the others are kept and exported."""

StartPolicy = Literal["reuse", "new"]
EndPolicy = Literal["complete", "park"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDescriptor:
    """Names a profile by what it is, so that a file works on another machine."""

    agent_name: str
    model: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that a trigger does.

    Attributes:
        config: the action's settings; references in it are ids (`step_id`).
    """

    type: ActionType
    config: JsonObject = field(default_factory=dict)

    @property
    def is_move(self) -> bool:
        """Whether the action moves the run to another step."""
        return self.type in MOVES


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTarget:
    """Which earlier session takes a step.

    Attributes:
        step_id: the step whose session is meant; only for the kind `step`.
    """

    kind: Literal["initial", "step"]
    step_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One stage of a workflow.

    Attributes:
        position: orders the steps; unique in the workflow, gaps are fine.
        triggers: for each trigger the actions in their order; the first satisfied move wins.
        profile: whom the step wants, as its file says; `profile_id` is whom that means here.
        wip_limit: how many runs may be in the step at once; 0 is no limit.
        auto_archive_after_hours: 0 is never.
    """

    id: str
    name: str
    position: int
    color: str = ""
    prompt: str = ""
    triggers: Mapping[Trigger, tuple[Action, ...]] = field(default_factory=dict)
    is_start_step: bool = False
    show_in_command_panel: bool = False
    allow_manual_move: bool = False
    auto_archive_after_hours: int = 0
    profile: ProfileDescriptor | None = None
    profile_id: str | None = None
    session_target: SessionTarget | None = None
    start_policy: StartPolicy = "reuse"
    end_policy: EndPolicy = "park"
    auto_advance_requires_signal: bool = False
    cancel_triggers_turn_complete: bool = False
    complete_task_on_enter: bool = False
    wip_limit: int = 0
    pull_from_step_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A definition: ordered steps, and what they share.

    Attributes:
        prompt: instructions that come before every step's prompt.
        profile: the default for steps that name none.
    """

    name: str
    description: str = ""
    prompt: str = ""
    profile: ProfileDescriptor | None = None
    profile_id: str | None = None
    steps: tuple[Step, ...] = ()

    def in_order(self) -> tuple[Step, ...]:
        """Return the steps by position."""
        return tuple(sorted(self.steps, key=lambda step: step.position))

    def step(self, step_id: str) -> Step | None:
        """Return the step of this id, if the workflow has it."""
        return next((step for step in self.steps if step.id == step_id), None)

    def start_step(self) -> Step | None:
        """Return the step in which a run begins: the last one marked so, else the first one."""
        ordered = self.in_order()
        marked = [step for step in ordered if step.is_start_step]
        return (marked or ordered)[-1 if marked else 0] if ordered else None
