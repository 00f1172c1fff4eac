"""What steps play on, and how they leave the ordinary course of things."""

import threading
from dataclasses import dataclass, field
from typing import Any

from spaced.testing.acp_agent.memory import Memory
from spaced.testing.acp_agent.wire import Wire


class Answered(Exception):
    """A step has answered the request by itself."""


class Cancelled(Exception):
    """The turn was cancelled."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """One request and what belongs to it.

    Attributes:
        request: what is to be answered.
        heeds_cancel: whether a cancel ends the turn.
        afterwards: steps that are played after the answer.
    """

    wire: Wire
    memory: Memory
    request: dict[str, Any]
    conversation: str
    heeds_cancel: bool
    prefix: str = ""
    number: int = 0
    afterwards: list[dict[str, Any]] = field(default_factory=list)

    def update(self, update: dict[str, Any], session: str | None = None) -> None:
        """Tell an update and remember it."""
        if session is None:
            self.memory.add(self.conversation, update)
        params = {"sessionId": session or self.conversation, "update": update}
        self.wire.send({"method": "session/update", "params": params})

    def answer(self, result: Any) -> None:
        """Answer the request."""
        self.wire.send({"id": self.request["id"], "result": result})

    def fail(self, code: int, message: str) -> None:
        """Refuse the request."""
        error = {"code": code, "message": message}
        self.wire.send({"id": self.request["id"], "error": error})

    def check_cancel(self) -> None:
        """End the turn if it was cancelled."""
        if self.heeds_cancel and self.wire.was_cancelled.is_set():
            raise Cancelled

    def wait(self, seconds: float) -> None:
        """Wait a moment, or until the turn is cancelled."""
        if self.heeds_cancel:
            self.wire.was_cancelled.wait(seconds)
            self.check_cancel()
        else:
            threading.Event().wait(seconds)

    def next_name(self) -> str:
        """Return a name that nothing else of this agent has."""
        self.number += 1
        return f"{self.prefix}.{self.number}"
