"""Executions of a runtime, and the turns that run in them."""

from typing import Literal

from spaced.domain.events.event import SessionEvent, event
from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem

TurnOutcome = Literal[
    "completed", "failed", "interrupted", "abandoned", "not-dispatched", "daemon-stopped"
]


@event("execution-opened")
class ExecutionOpened(SessionEvent):
    """A runtime is about to connect an agent to the session.

    It is recorded first, so that no connection and no process is ever without a record.

    Attributes:
        generation: the provider conversation that it continues or begins.
    """

    execution_id: str
    runtime: str
    generation: int


@event("execution-ended")
class ExecutionEnded(SessionEvent):
    """A runtime connection is gone.

    Attributes:
        reason: a stable code, such as `idle`, `stopped`, `crashed` or `daemon-stopped`.
        details: exit code, signal, last lines of the error output.
    """

    execution_id: str
    reason: str
    problem: Problem | None = None
    details: JsonObject | None = None


@event("turn-started")
class TurnStarted(SessionEvent):
    """Prompts were promoted into a turn; nothing was handed to the agent yet.

    Attributes:
        entry_id: the step entry that the run was in.
        workflow_version: the version whose words go with the prompts.
    """

    turn_id: str
    prompt_ids: tuple[str, ...]
    entry_id: str | None = None
    workflow_version: int | None = None


@event("turn-dispatched")
class TurnDispatched(SessionEvent):
    """Prompts are about to be handed to the agent, and will not be handed over again.

    Attributes:
        prompt_ids: those of the turn, or the steers that join it later.
    """

    turn_id: str
    execution_id: str
    prompt_ids: tuple[str, ...]


@event("turn-retrying")
class TurnRetrying(SessionEvent):
    """The agent did not take the prompts; they are handed over once more.

    Attributes:
        attempt: the number of the coming attempt, from 2.
        next_at: when it begins, as an RFC 3339 time.
    """

    turn_id: str
    attempt: int
    message: str
    next_at: str


@event("turn-ended")
class TurnEnded(SessionEvent):
    """The agent is idle again; only this releases the turn.

    Attributes:
        stop_reason: the provider's word for why it stopped.
        usage: tokens and cost as the runtime reported them.
        cause: who interrupted it: `person`, `move`, `replace` or `timeout`.
    """

    turn_id: str
    outcome: TurnOutcome
    stop_reason: str | None = None
    usage: JsonObject | None = None
    problem: Problem | None = None
    cause: str | None = None
