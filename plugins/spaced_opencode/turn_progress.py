"""How far the server is with a turn, and whether it is over. No input, no output, no clock.

Idle is told too early, too often, and also before a prompt was even begun; so it only counts
together with what became of the prompt.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from spaced.plugin_api import FinishedOutcome, JsonObject, Problem, TurnFinished
from spaced_opencode.said_errors import SaidError, read_error

Verdict = Literal["done", "unanswered", "unsure"]

_ABORTED: Final = "MessageAbortedError"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    """One message of the agent, which is one call of its model."""

    parent: str
    is_complete: bool
    finish: str | None
    error: SaidError | None
    tokens: Mapping[str, int | float]


@dataclass(slots=True, kw_only=True, eq=False)
class TurnProgress:
    """A turn that was handed over and has not ended.

    Attributes:
        message_ids: the ids of its messages: the first, and one for each steer.
        is_interrupted: whether somebody wants it to end.
        is_stored: whether the server is known to have its first message.
        is_settled: set once that is so, or will never be.
        has_begun: whether the server was busy since then.
        error: what the server has said went wrong outside of any message.
        wakes: how often the server was reminded of a message that it has left lying.
    """

    id: str
    message_ids: list[str]
    is_interrupted: bool = False
    is_stored: bool = False
    is_settled: asyncio.Event = field(default_factory=asyncio.Event)
    has_begun: bool = False
    error: SaidError | None = None
    wakes: int = 0
    _replies: dict[str, _Reply] = field(default_factory=dict)

    @property
    def message_id(self) -> str:
        """The id of the message that carries its first prompts."""
        return self.message_ids[0]

    @property
    def last_reply(self) -> str | None:
        """The id of the newest message of the agent."""
        return next(reversed(self._replies), None)

    def note_message(self, info: Mapping[str, Any]) -> bool:
        """Take what a message is like now; true: it is a reply that has become complete."""
        message_id = str(info.get("id"))
        if info.get("role") == "user":
            if message_id == self.message_id:
                self.is_stored = True
                self.is_settled.set()
            return False
        if info.get("role") != "assistant" or not self.is_stored:
            return False
        before = self._replies.get(message_id)
        reply = _read_reply(info)
        if before is not None and before.is_complete and not reply.is_complete:
            return False  # told late, after a lost connection
        self.has_begun = True
        self._replies[message_id] = reply
        return reply.is_complete and (before is None or not before.is_complete)

    def note_error(self, error: SaidError) -> None:
        """Take what the server says went wrong; the first holds, since others follow from it."""
        if self.error is None:
            self.error = error

    def verdict(self) -> Verdict:
        """Return what it means that the session is idle.

        - `done`: the turn is over.
        - `unanswered`: a steer is stored and nobody works on it.
        - `unsure`: the server has not come to it yet, or not yet to its end, or has lost it.
        """
        if not self._replies:
            has_failed = self.error is not None and self.error.name != _ABORTED
            return "done" if has_failed else "unsure"
        if not all(reply.is_complete for reply in self._replies.values()):
            return "unsure"
        parents = {reply.parent for reply in self._replies.values()}
        is_answered = len(self.message_ids) == 1 or self.message_ids[-1] in parents
        if not is_answered and not self.is_interrupted and self._failure() is None:
            return "unanswered"
        return "done"

    def ending(self) -> TurnFinished:
        """Return how it ended, now that it is over."""
        last = next(reversed(self._replies.values()), None)
        failure = self._failure()
        outcome: FinishedOutcome = "completed"
        problem: Problem | None = None
        if failure is not None and failure.name == _ABORTED:
            outcome = "interrupted"
        elif failure is not None:
            outcome, problem = "failed", failure.as_problem()
        elif self.is_interrupted and (last is None or last.finish is None):
            outcome = "interrupted"
        stop_reason = "aborted" if outcome == "interrupted" else last.finish if last else None
        return TurnFinished(
            turn_id=self.id,
            outcome=outcome,
            stop_reason=stop_reason,
            usage=self.usage(),
            problem=problem,
        )

    def usage(self) -> JsonObject | None:
        """Return tokens and cost of all model calls so far."""
        sums: dict[str, int | float] = {}
        for reply in self._replies.values():
            for name, number in reply.tokens.items():
                sums[name] = sums.get(name, 0) + number
        return sums or None

    def _failure(self) -> SaidError | None:
        last = next(reversed(self._replies.values()), None)
        if last is not None:
            return last.error
        return self.error


def _read_reply(info: Mapping[str, Any]) -> _Reply:
    time, finish = info.get("time"), info.get("finish")
    return _Reply(
        parent=str(info.get("parentID")),
        is_complete=isinstance(time, dict) and time.get("completed") is not None,
        finish=finish if isinstance(finish, str) else None,
        error=read_error(info.get("error")),
        tokens=_tokens(info),
    )


def _tokens(info: Mapping[str, Any]) -> Mapping[str, int | float]:
    tokens = info.get("tokens")
    told = tokens if isinstance(tokens, dict) else {}
    cache = told.get("cache") if isinstance(told.get("cache"), dict) else {}
    numbers = {
        "input_tokens": told.get("input"),
        "output_tokens": told.get("output"),
        "reasoning_tokens": told.get("reasoning"),
        "cached_read_tokens": (cache or {}).get("read"),
        "cached_write_tokens": (cache or {}).get("write"),
        "cost": info.get("cost"),
    }
    return {
        name: number
        for name, number in numbers.items()
        if isinstance(number, int | float) and not isinstance(number, bool) and number
    }
