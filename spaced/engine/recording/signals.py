"""Reports that decide about a turn: they pass the door for what can be stored, as all text does."""

from dataclasses import replace
from typing import TypeAlias

from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem
from spaced.domain.text_door import storable_object, storable_text
from spaced.runtime.updates import (
    AgentRetrying,
    AskWithdrawn,
    ExecutionFinished,
    PermissionWanted,
    PromptNotTaken,
    QuestionWanted,
    TurnFinished,
)

Signal: TypeAlias = (
    TurnFinished
    | PromptNotTaken
    | ExecutionFinished
    | AgentRetrying
    | PermissionWanted
    | QuestionWanted
    | AskWithdrawn
)
"""Reports that whoever runs the turn is told, once they are recorded."""


def storable_signal(signal: Signal) -> Signal:
    """Return a report whose words can be stored."""
    match signal:
        case TurnFinished():
            return replace(
                signal,
                stop_reason=_text(signal.stop_reason),
                usage=_object(signal.usage),
                problem=_problem(signal.problem),
            )
        case ExecutionFinished():
            return replace(
                signal,
                reason=storable_text(signal.reason),
                problem=_problem(signal.problem),
                details=_object(signal.details),
            )
        case PromptNotTaken() | AgentRetrying():
            return replace(signal, message=storable_text(signal.message))
        case _:
            return signal


def _text(text: str | None) -> str | None:
    return None if text is None else storable_text(text)


def _object(value: JsonObject | None) -> JsonObject | None:
    return None if value is None else storable_object(value)


def _problem(problem: Problem | None) -> Problem | None:
    if problem is None:
        return None
    return Problem(
        code=storable_text(problem.code),
        message=storable_text(problem.message),
        remedy=storable_text(problem.remedy),
    )
