"""The keys that portable files have, at each level; others are warned of and not kept."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final, get_args

from spaced.domain.workflow import MOVES, TRIGGERS, ActionType
from spaced.portable.tree import Path

DOCUMENT: Final = ("version", "type", "workflows")
WORKFLOW: Final = ("name", "description", "prompt", "agent_profile", "steps")
STEP: Final = (
    *("name", "position", "color", "prompt", "events", "is_start_step"),
    *("show_in_command_panel", "allow_manual_move", "auto_archive_after_hours", "agent_profile"),
    *("auto_advance_requires_signal", "cancel_triggers_turn_complete", "wip_limit"),
    *("pull_from_step_position", "profile_session_start_policy", "profile_session_end_policy"),
    *("session_target", "complete_task_on_enter"),
)
DESCRIPTOR: Final = ("agent_name", "model", "mode")
TARGET: Final = ("kind", "step_position")
ACTION: Final = ("type", "config")
RULE: Final = ("agent_name", "operation", "model", "config_options")
QUORUM: Final = ("role", "threshold")
_GUARDS: Final = ("requires_approval", "if", "wait_for_quorum")

CONFIG: Final[Mapping[str, tuple[str, ...]]] = {
    "move_to_next": _GUARDS,
    "move_to_previous": _GUARDS,
    "move_to_step": ("step_position", *_GUARDS),
    "set_session_mode": ("mode",),
    "configure_session": ("rules",),
    "run_code_review": ("agent_profile",),
    "queue_run": ("target", "task_id", "reason", "payload"),
    "queue_run_for_each_participant": ("role", "reason", "payload"),
    "ensure_participant_seat": ("role", "reason", "payload"),
    "run_script": ("command", "timeout_seconds", "failure_policy"),
}
"""The settings of actions by their type; those that are not named have none."""

ACTION_TYPES: Final[tuple[str, ...]] = get_args(ActionType)


def nearest(word: object, known: tuple[str, ...]) -> str | None:
    """Return the known word that somebody may have meant."""
    found = get_close_matches(str(word)[:80], known, n=1)
    return found[0] if found else None


def unknown_keys(document: Mapping[str, object]) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield the path of each key that is not known, with those that are known in its place."""
    yield from _beyond((), document, DOCUMENT)
    for path, workflow in _each(("workflows",), document.get("workflows")):
        yield from _beyond(path, workflow, WORKFLOW)
        yield from _in((*path, "agent_profile"), workflow.get("agent_profile"), DESCRIPTOR)
        for step_path, step in _each((*path, "steps"), workflow.get("steps")):
            yield from _in_step(step_path, step)


def _in_step(path: Path, step: Mapping[str, object]) -> Iterator[tuple[Path, tuple[str, ...]]]:
    yield from _beyond(path, step, STEP)
    yield from _in((*path, "agent_profile"), step.get("agent_profile"), DESCRIPTOR)
    yield from _in((*path, "session_target"), step.get("session_target"), TARGET)
    events = step.get("events")
    for trigger, actions in events.items() if isinstance(events, dict) else ():
        if trigger not in TRIGGERS:
            continue
        for action_path, action in _each((*path, "events", trigger), actions):
            yield from _in_action(action_path, action)


def _in_action(path: Path, action: Mapping[str, object]) -> Iterator[tuple[Path, tuple[str, ...]]]:
    yield from _beyond(path, action, ACTION)
    kind, config, path = action.get("type"), action.get("config"), (*path, "config")
    if kind not in ACTION_TYPES or not isinstance(config, dict):
        return
    yield from _beyond(path, config, CONFIG.get(str(kind), ()))
    yield from _in((*path, "agent_profile"), config.get("agent_profile"), DESCRIPTOR)
    for rule_path, rule in _each((*path, "rules"), config.get("rules")):
        yield from _beyond(rule_path, rule, RULE)
    if kind in MOVES:
        yield from _in((*path, "wait_for_quorum"), config.get("wait_for_quorum"), QUORUM)
        condition = config.get("if")
        yield from _in((*path, "if"), condition, ("wait_for_quorum",))
        if isinstance(condition, dict):
            quorum = condition.get("wait_for_quorum")
            yield from _in((*path, "if", "wait_for_quorum"), quorum, QUORUM)


def _in(
    path: Path, value: object, known: tuple[str, ...]
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    if isinstance(value, dict):
        yield from _beyond(path, value, known)


def _beyond(
    path: Path, value: Mapping[str, object], known: tuple[str, ...]
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    for key in value:
        if key not in known:
            yield (*path, key), known


def _each(path: Path, value: object) -> Iterator[tuple[Path, Mapping[str, object]]]:
    for place, one in enumerate(value if isinstance(value, list) else ()):
        if isinstance(one, dict):
            yield (*path, place), one
