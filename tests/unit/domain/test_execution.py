"""The fold of an execution: it opens and ends once."""

from dataclasses import replace

from spaced.domain.events.prompt import QueuePaused
from spaced.domain.events.turn import ExecutionEnded, ExecutionOpened
from spaced.domain.execution import Execution, apply_to_execution, open_execution

OPEN = open_execution(
    ExecutionOpened(execution_id="exe", runtime="scripted", generation=2), session_id="ses"
)
ENDED = ExecutionEnded(execution_id="exe", reason="idle")


def test_an_execution_opens_with_its_runtime_and_generation() -> None:
    """It has no reason as long as it has not ended."""
    assert Execution(id="exe", session_id="ses", runtime="scripted", generation=2) == OPEN


def test_an_ended_execution_says_why() -> None:
    """As a stable code."""
    assert apply_to_execution(OPEN, ENDED) == replace(OPEN, status="ended", reason="idle")


def test_the_first_end_counts() -> None:
    """A restart and a late report may both tell of it."""
    ended = apply_to_execution(OPEN, ENDED)

    assert apply_to_execution(ended, replace(ENDED, reason="restart")) is ended


def test_other_events_are_not_about_an_execution() -> None:
    """They return the execution itself."""
    assert apply_to_execution(OPEN, QueuePaused(reason="person")) is OPEN
