"""What differs between two versions of a workflow: told with each new one, and shown by plans."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from spaced.domain.workflow import Step, Workflow

_STEP_FIELDS: Final = tuple(one.name for one in fields(Step) if one.name != "id")
_OWN_FIELDS: Final = tuple(one.name for one in fields(Workflow) if one.name != "steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowChanges:
    """How a version differs from the one before.

    Attributes:
        fields: of the workflow itself.
        created: ids of steps that are new.
        updated: for each step that is another one, which of its fields are.
        removed: the steps that are gone, as they were.
    """

    fields: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    updated: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    removed: tuple[Step, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether both versions are the same."""
        return not (self.fields or self.created or self.updated or self.removed)

    def demoted(self, after: Workflow) -> tuple[Step, ...]:
        """Return the steps that are no start step any more because another one became it.

        Args:
            after: the workflow as these changes left it.
        """
        start = after.start_step()
        if start is None or "is_start_step" not in self._fields_of(start.id):
            return ()
        return tuple(
            step
            for step in after.in_order()
            if step.id != start.id and "is_start_step" in self.updated.get(step.id, ())
        )

    def _fields_of(self, step_id: str) -> tuple[str, ...]:
        return ("is_start_step",) if step_id in self.created else self.updated.get(step_id, ())


def changes_between(before: Workflow | None, after: Workflow) -> WorkflowChanges:
    """Return how a version differs from the one before; without one, all its steps are new."""
    if before is None:
        return WorkflowChanges(created=tuple(step.id for step in after.in_order()))
    old = {step.id: step for step in before.steps}
    new = {step.id: step for step in after.in_order()}
    return WorkflowChanges(
        fields=differing(before, after, _OWN_FIELDS),
        created=tuple(step_id for step_id in new if step_id not in old),
        updated={
            step_id: names
            for step_id, step in new.items()
            if step_id in old and (names := differing(old[step_id], step, _STEP_FIELDS))
        },
        removed=tuple(step for step in before.in_order() if step.id not in new),
    )


def differing(one: object, other: object, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields in which two values differ."""
    return tuple(name for name in names if getattr(one, name) != getattr(other, name))
