"""The fold of one execution: the life of a runtime's connection for a session."""

from dataclasses import dataclass, replace
from typing import Literal

from spaced.domain.events.event import Event
from spaced.domain.events.turn import ExecutionEnded, ExecutionOpened


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """An execution as its run's stream leaves it.

    Attributes:
        reason: why it ended, as a stable code.
    """

    id: str
    session_id: str
    runtime: str
    generation: int
    status: Literal["open", "ended"] = "open"
    reason: str | None = None


def open_execution(event: ExecutionOpened, *, session_id: str) -> Execution:
    """Return the execution that its first event describes."""
    return Execution(
        id=event.execution_id,
        session_id=session_id,
        runtime=event.runtime,
        generation=event.generation,
    )


def apply_to_execution(execution: Execution, event: Event) -> Execution:
    """Return the execution after an event that names it; one that ended never changes."""
    if isinstance(event, ExecutionEnded) and execution.status == "open":
        return replace(execution, status="ended", reason=event.reason)
    return execution
