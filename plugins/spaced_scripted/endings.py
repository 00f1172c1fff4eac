"""The ways in which a step can end its turn, raised by it and caught where the turn ends."""

from spaced.plugin_api import FinishedOutcome, Problem


class TurnOver(Exception):
    """The turn ends here, as the script says."""

    def __init__(
        self,
        outcome: FinishedOutcome,
        *,
        stop_reason: str | None = None,
        problem: Problem | None = None,
    ) -> None:
        super().__init__(outcome)
        self.outcome = outcome
        self.stop_reason = stop_reason
        self.problem = problem


class TurnRefused(Exception):
    """The agent does not take the turn."""

    def __init__(self, message: str, *, after_ms: int | None) -> None:
        super().__init__(message)
        self.message = message
        self.after_ms = after_ms


class AgentCrashed(Exception):
    """The agent is gone."""
