"""The clocks that run for a turn; each rings once, in its mailbox."""

import asyncio
from typing import Literal

from spaced.engine.parts import EngineParts
from spaced.engine.turns.messages import Due, Mailbox


class TurnTimers:
    """One clock for each thing to wait for."""

    def __init__(self, parts: EngineParts, mailbox: Mailbox) -> None:
        self._parts = parts
        self._mailbox = mailbox
        self._running: dict[str, asyncio.Task[None]] = {}

    def start(self, what: Literal["retry", "kill"], after_ms: int) -> None:
        """Let a clock ring after this much time, instead of when it was to ring before."""

        async def ring() -> None:
            await self._parts.clock.sleep(after_ms)
            self._mailbox.put(Due(what=what))

        self._stop(what)
        self._running[what] = self._parts.tasks.start(ring(), name=f"{what} timer")

    def stop_all(self) -> None:
        """Let no clock ring any more."""
        for what in tuple(self._running):
            self._stop(what)

    def _stop(self, what: str) -> None:
        timer = self._running.pop(what, None)
        if timer is not None:
            timer.cancel()
