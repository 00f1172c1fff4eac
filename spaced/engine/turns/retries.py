"""The further attempts of a turn whose prompts the agent did not take."""

from dataclasses import dataclass

from spaced.clock import Timestamp, to_rfc3339
from spaced.domain.events.turn import TurnRetrying
from spaced.domain.problem import Problem
from spaced.domain.retry import delay_before_next
from spaced.engine.held_run import about
from spaced.engine.parts import EngineParts
from spaced.engine.turns.dispatch import BegunTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class NextAttempt:
    """When the prompts are handed over once more.

    Attributes:
        number: from 2.
        at: milliseconds since the epoch, and `delay_ms` from now.
    """

    number: int
    at: int
    delay_ms: int


class TurnRetries:
    """Counts the attempts of one turn, and says whether there is another one."""

    def __init__(self, parts: EngineParts, turn: BegunTurn, *, attempts: int) -> None:
        self._parts = parts
        self._turn = turn
        self._attempts = attempts
        self._first_at: Timestamp | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the agent may have had the prompts."""
        return self._attempts > 0

    def count(self) -> None:
        """Note that the prompts are handed over."""
        self._attempts += 1
        if self._first_at is None:
            self._first_at = self._parts.clock.now()

    async def record_next(self, message: str, after_ms: int | None) -> NextAttempt | None:
        """Record that there is another attempt, and when; `None`: there is none.

        Raises:
            SpacedError: it could not be recorded.
        """
        now = self._parts.clock.now()
        begun_at = now if self._first_at is None else self._first_at
        delay = delay_before_next(self._attempts, begun_at=begun_at, now=now, wanted_ms=after_ms)
        if delay is None:
            return None
        following = NextAttempt(number=self._attempts + 1, at=now + delay, delay_ms=delay)
        retrying = TurnRetrying(
            turn_id=self._turn.id,
            attempt=following.number,
            message=message,
            next_at=to_rfc3339(Timestamp(following.at)),
        )
        async with self._parts.queues.hold(self._turn.run_id) as held:
            held.require_turn(self._turn.session_id, self._turn.id)
            await held.append(about(self._turn.session_id, retrying))
        return following

    def exhausted(self, message: str) -> Problem:
        """Return why the turn ends without another attempt."""
        return Problem(
            code="not-taken",
            message=f"The agent took no prompt in {self._attempts} attempts: {message}",
            remedy="Wait until the agent is reachable again, then send the prompt again.",
        )
