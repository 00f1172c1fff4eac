"""Asks that wait for an answer: each is answered once, or closed with its turn."""

import asyncio
from dataclasses import dataclass
from typing import Any

from spaced.plugin_api import AskAnswer, JsonObject, PermissionAnswer, QuestionAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAsk:
    """An ask that somebody waits for."""

    turn_id: str | None
    kind: type[PermissionAnswer] | type[QuestionAnswer]
    answers: dict[str, dict[str, Any]]
    answered: asyncio.Future[AskAnswer | None]


class Asks:
    """The open asks of one connection."""

    def __init__(self) -> None:
        self._open: dict[str, OpenAsk] = {}

    def expect(
        self,
        ask_id: str,
        kind: type[PermissionAnswer] | type[QuestionAnswer],
        *,
        turn_id: str | None,
        answers: dict[str, dict[str, Any]],
    ) -> asyncio.Future[AskAnswer | None]:
        """Open an ask, or take one up that is open already; withdrawn, its answer is `None`.

        Args:
            ask_id: our name for it.
            kind: what answers it.
            turn_id: with which turn it closes.
            answers: where its answer is written down.
        """
        known = self._open.get(ask_id)
        if known is None:
            answered: asyncio.Future[AskAnswer | None] = asyncio.get_running_loop().create_future()
            known = OpenAsk(turn_id=turn_id, kind=kind, answers=answers, answered=answered)
            self._open[ask_id] = known
        return known.answered

    def answer(self, ask_id: str, answer: AskAnswer) -> bool:
        """Take an answer; false if the ask is not open or cannot be answered so."""
        ask = self._open.get(ask_id)
        if ask is None or not isinstance(answer, ask.kind):
            return False
        del self._open[ask_id]
        ask.answers[ask_id] = write_answer(answer)
        if not ask.answered.done():
            ask.answered.set_result(answer)
        return True

    def withdraw(self, ask_id: str) -> bool:
        """Close an ask; whoever waits for it goes on. False if it was not open."""
        ask = self._open.pop(ask_id, None)
        if ask is not None and not ask.answered.done():
            ask.answered.set_result(None)
        return ask is not None

    def close_turn(self, turn_id: str) -> list[str]:
        """Close the asks of a turn and return their names."""
        names = [name for name, ask in self._open.items() if ask.turn_id == turn_id]
        for name in names:
            self.withdraw(name)
        return names


def write_answer(answer: AskAnswer) -> dict[str, Any]:
    """Return an answer as JSON."""
    if isinstance(answer, QuestionAnswer):
        return {"answers": [list(chosen) for chosen in answer.answers]}
    return {
        "option_id": answer.option_id,
        "is_allowed": answer.is_allowed,
        "message": answer.message,
    }


def read_answer(written: JsonObject) -> AskAnswer:
    """Read an answer that was written down."""
    answers = written.get("answers")
    if isinstance(answers, list):
        return QuestionAnswer(answers=tuple(tuple(chosen) for chosen in answers))
    message = written.get("message")
    return PermissionAnswer(
        option_id=str(written["option_id"]),
        is_allowed=bool(written["is_allowed"]),
        message=message if isinstance(message, str) else None,
    )
