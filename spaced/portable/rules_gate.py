"""The second gate: rules that no schema can say, told with their places in the file."""

from collections.abc import Iterator
from typing import Final

from spaced.domain.workflow_rules import Fault, faults_of
from spaced.portable.reading import Reading, step_place
from spaced.portable.schema_gate import Refusal
from spaced.portable.tree import Path

_FIELDS: Final = {
    "triggers": "events",
    "pull_from_step_id": "pull_from_step_position",
}


def rule_refusals(reading: Reading, path: Path) -> Iterator[Refusal]:
    """Yield what breaks a rule in the workflow at a path."""
    for place, position in reading.dangling:
        yield Refusal(
            path=place,
            code="unknown-position",
            message=f"no step has the position {position}",
            remedy=f"the positions are {_positions(reading)}",
        )
    for fault in faults_of(reading.workflow):
        yield _refusal(fault, path)


def _refusal(fault: Fault, path: Path) -> Refusal:
    return Refusal(
        path=(*path, "steps", step_place(fault.step_id), *_part(fault.part)),
        code=fault.code,
        message=fault.message,
        remedy=fault.remedy,
    )


def _part(part: tuple[str | int, ...]) -> Path:
    """Return a part of a step as files have it."""
    name, *rest = part
    if name != "triggers":
        return (_FIELDS.get(str(name), name), *rest)
    place: Path = ("events", *rest[:2])
    inside = rest[2:]
    if inside == ["step_id"]:
        inside = ["step_position"]
    return (*place, "config", *inside) if inside else place


def _positions(reading: Reading) -> str:
    return ", ".join(str(step.position) for step in reading.workflow.in_order()) or "none"
