"""The turn that an agent is at, and the one that it was at before: whose is what it says now?"""

from dataclasses import dataclass
from typing import Final

from spaced.plugin_api import (
    Clock,
    FinishedOutcome,
    Problem,
    RuntimeProblem,
    Timestamp,
    TurnFinished,
)
from spaced_acp.messages import AUTH_REQUIRED, REQUEST_CANCELLED, ErrorAnswer, MessageId
from spaced_acp.problems import LoginNeeded
from spaced_acp.reports import TurnResult

LATE_MS: Final = 2000
"""How long what comes after a turn's end still belongs to it."""

_LONGEST_WORDS: Final = 1000
_OUTCOMES: Final[dict[str, FinishedOutcome]] = {"cancelled": "interrupted", "refusal": "failed"}
_REFUSED: Final = Problem(
    code="agent-refused",
    message="The agent refused to go on; it has dropped this prompt and what came of it.",
    remedy="Word the prompt in another way.",
)


@dataclass(slots=True, kw_only=True, eq=False)
class RunningTurn:
    """A turn that was handed over and has not ended.

    Attributes:
        message_id: the request that is answered at its end.
        is_interrupted: whether somebody wants it to end.
        has_spoken: whether anything came of it.
    """

    id: str
    message_id: MessageId | None = None
    is_interrupted: bool = False
    has_spoken: bool = False

    def require_wanted(self) -> None:
        """Refuse to hand over what was interrupted on its way: the cancel would be there before.

        Raises:
            RuntimeProblem: somebody interrupted it.
        """
        if self.is_interrupted:
            raise RuntimeProblem("the turn was interrupted before it was handed over")


class Turns:
    """Which turn runs, and which one has just ended."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.running: RunningTurn | None = None
        self._last: tuple[str, Timestamp] | None = None

    @property
    def current_id(self) -> str | None:
        """The turn to which what is said now belongs; `None` if it belongs to none."""
        if self.running is not None:
            return self.running.id
        if self._last is not None and 0 <= self._clock.now() - self._last[1] <= LATE_MS:
            return self._last[0]
        return None

    def begin(self, turn_id: str) -> RunningTurn:
        """Note that a turn is being handed over."""
        self.running = RunningTurn(id=turn_id)
        return self.running

    def end(self) -> None:
        """Note that the running turn has ended."""
        if self.running is not None:
            self._last = (self.running.id, self._clock.now())
            self.running = None


def finished(turn: RunningTurn, result: TurnResult) -> TurnFinished:
    """Return the end of a turn as the agent told it."""
    outcome = _OUTCOMES.get(result.stop_reason, "completed")
    return TurnFinished(
        turn_id=turn.id,
        outcome=outcome,
        stop_reason=result.stop_reason,
        usage=result.usage,
        problem=_REFUSED if result.stop_reason == "refusal" else None,
    )


def failed(turn: RunningTurn, error: ErrorAnswer, agent: str) -> TurnFinished:
    """Return the end of a turn that the agent could not bring to a good one."""
    if turn.is_interrupted or error.code == REQUEST_CANCELLED:
        # Agents answer a cancelled turn with all kinds of errors; it is what was wanted.
        return TurnFinished(turn_id=turn.id, outcome="interrupted", stop_reason="cancelled")
    words = error.text[:_LONGEST_WORDS]
    if error.code == AUTH_REQUIRED:
        problem = Problem(
            code=LoginNeeded.code,
            message=f"{agent} wants a login: {words}",
            remedy=LoginNeeded.remedy,
        )
    else:
        problem = Problem(
            code="agent-error",
            message=f"{agent} failed: {words} (code {error.code})",
            remedy="Prompt again; if it stays, look at the agent's model, account and settings.",
        )
    return TurnFinished(turn_id=turn.id, outcome="failed", problem=problem)
