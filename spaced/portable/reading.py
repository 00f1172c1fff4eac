"""Maps a document's values to workflows of the domain.

It reads whatever is there: what the first gate refused is read as if it were absent, so that the
second gate can still look at everything else. Steps get ids by their place in the file, `#0`,
`#1`, …; whoever takes the workflow over gives them ids of its own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from spaced.domain.json_values import copy_json
from spaced.domain.workflow import (
    TRIGGERS,
    Action,
    ActionType,
    EndPolicy,
    ProfileDescriptor,
    SessionTarget,
    StartPolicy,
    Step,
    Trigger,
    Workflow,
)
from spaced.portable.keys import ACTION_TYPES, CONFIG, DESCRIPTOR, QUORUM, RULE
from spaced.portable.tree import Path

_NOWHERE: Final = -(2**40)


@dataclass(slots=True)
class Reading:
    """What was read of one workflow.

    Attributes:
        dangling: paths of positions that no step has, with the position.
        odd_policies: paths of policies that are unknown.
    """

    workflow: Workflow
    dangling: list[tuple[Path, int]] = field(default_factory=list)
    odd_policies: list[Path] = field(default_factory=list)


def step_place(step_id: str) -> int:
    """Return a step's place in its file from the id that it was read with."""
    return int(step_id.removeprefix("#"))


def read_workflow(value: Mapping[str, Any], path: Path) -> Reading:
    """Return the workflow that an entry of `workflows` describes.

    Args:
        path: of the entry.
    """
    return _Reader(value, path).read()


class _Reader:
    def __init__(self, value: Mapping[str, Any], path: Path) -> None:
        steps = value.get("steps")
        self._value = value
        self._path = path
        self._steps = [_object(step) for step in steps] if isinstance(steps, list) else []
        self._ids: dict[int, str] = {}
        self._all_known = True
        for place, step in enumerate(self._steps):
            position = _integer(step.get("position", 0))
            if position is None:
                self._all_known = False
            else:
                self._ids.setdefault(position, f"#{place}")
        self._reading = Reading(workflow=Workflow(name=_text(value, "name")))

    def read(self) -> Reading:
        value = self._value
        self._reading.workflow = Workflow(
            name=_text(value, "name"),
            description=_text(value, "description"),
            prompt=_text(value, "prompt"),
            profile=_descriptor(value.get("agent_profile")),
            steps=tuple(self._step(place, step) for place, step in enumerate(self._steps)),
        )
        # By position, so that two files that say the same are the same value.
        self._reading.workflow = replace(
            self._reading.workflow, steps=self._reading.workflow.in_order()
        )
        return self._reading

    def _step(self, place: int, step: dict[str, Any]) -> Step:
        path = (*self._path, "steps", place)
        position = _integer(step.get("position", 0))
        return Step(
            id=f"#{place}",
            name=_text(step, "name"),
            position=_NOWHERE - place if position is None else position,
            color=_text(step, "color"),
            prompt=_text(step, "prompt"),
            triggers=dict(self._triggers(_object(step.get("events")), (*path, "events"))),
            is_start_step=_flag(step, "is_start_step"),
            show_in_command_panel=_flag(step, "show_in_command_panel"),
            allow_manual_move=_flag(step, "allow_manual_move"),
            auto_archive_after_hours=_integer(step.get("auto_archive_after_hours")) or 0,
            profile=_descriptor(step.get("agent_profile")),
            session_target=self._target(step.get("session_target"), (*path, "session_target")),
            start_policy=cast(
                "StartPolicy",
                self._policy(step, path, "profile_session_start_policy", ("reuse", "new")),
            ),
            end_policy=cast(
                "EndPolicy",
                self._policy(step, path, "profile_session_end_policy", ("park", "complete")),
            ),
            auto_advance_requires_signal=_flag(step, "auto_advance_requires_signal"),
            cancel_triggers_turn_complete=_flag(step, "cancel_triggers_turn_complete"),
            complete_task_on_enter=_flag(step, "complete_task_on_enter"),
            wip_limit=_integer(step.get("wip_limit")) or 0,
            pull_from_step_id=self._step_at(
                step.get("pull_from_step_position"), (*path, "pull_from_step_position")
            ),
        )

    def _triggers(
        self, events: dict[str, Any], path: Path
    ) -> Iterator[tuple[Trigger, tuple[Action, ...]]]:
        for trigger in TRIGGERS:
            actions = events.get(trigger)
            read = [
                # An entry that is none keeps its place, so that the others keep theirs.
                self._action(_object(action), (*path, trigger, place))
                for place, action in enumerate(actions if isinstance(actions, list) else ())
            ]
            if read:
                yield trigger, tuple(read)

    def _action(self, action: dict[str, Any], path: Path) -> Action:
        kind = action.get("type")
        config = _object(action.get("config"))
        if kind not in ACTION_TYPES:
            return Action(type=cast("ActionType", str(kind)))
        return Action(
            type=cast("ActionType", kind),
            config=dict(self._config(str(kind), config, (*path, "config"))),
        )

    def _config(
        self, kind: str, config: dict[str, Any], path: Path
    ) -> Iterator[tuple[str, object]]:
        for key in CONFIG.get(kind, ()):
            value = config.get(key)
            if key == "step_position":
                if (step_id := self._step_at(value, (*path, key))) is not None:
                    yield "step_id", step_id
            elif key in ("if", "wait_for_quorum"):
                if key == "if" and (quorum := _quorum(config)):
                    yield "if", {"wait_for_quorum": quorum}
            elif key == "requires_approval":
                if value is True:
                    yield key, True
            elif key == "rules":
                yield key, [_rule(one) for one in value] if isinstance(value, list) else []
            elif value is not None:
                yield (
                    key,
                    _chosen(value, DESCRIPTOR) if key == "agent_profile" else copy_json(value),
                )

    def _target(self, value: object, path: Path) -> SessionTarget | None:
        target = _object(value)
        match target.get("kind"):
            case "initial":
                return SessionTarget(kind="initial")
            case "step":
                position = target.get("step_position")
                step_id = self._step_at(position, (*path, "step_position"))
                return SessionTarget(kind="step", step_id=step_id)
            case _:
                return None

    def _step_at(self, value: object, path: Path) -> str | None:
        position = _integer(value)
        if position is None:
            return None
        found = self._ids.get(position)
        # With a step whose own position cannot be read, nobody can tell what is meant.
        if found is None and self._all_known:
            self._reading.dangling.append((path, position))
        return found

    def _policy(self, step: dict[str, Any], path: Path, key: str, known: tuple[str, str]) -> str:
        value = step.get(key)
        if value in known:
            return str(value)
        if not (value is None or (isinstance(value, str) and not value.strip())):
            self._reading.odd_policies.append((*path, key))
        return known[0]


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _flag(value: Mapping[str, Any], key: str) -> bool:
    return value.get(key) is True


def _integer(value: object) -> int | None:
    """Return a whole number; JSON may write it as 1.0."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None


def _descriptor(value: object) -> ProfileDescriptor | None:
    found = _object(value)
    if not _text(found, "agent_name"):
        return None
    return ProfileDescriptor(**{key: _text(found, key) for key in DESCRIPTOR})


def _quorum(config: dict[str, Any]) -> dict[str, object]:
    condition = _object(config.get("if")).get("wait_for_quorum")
    return _chosen(condition or config.get("wait_for_quorum"), QUORUM)


def _rule(value: object) -> dict[str, object]:
    return _chosen(value, RULE)


def _chosen(value: object, keys: tuple[str, ...]) -> dict[str, object]:
    found = _object(value)
    return {key: copy_json(found[key]) for key in keys if found.get(key) is not None}
