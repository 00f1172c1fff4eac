"""Closes connections that nobody has used for a while, so that parked sessions cost nothing."""

import asyncio

from spaced.engine.coordinator import Coordinator
from spaced.engine.executions import Executions
from spaced.engine.parts import EngineParts


class IdleConnections:
    """One clock for each connection that waits for a turn, and none for a session without one."""

    def __init__(
        self, parts: EngineParts, executions: Executions, coordinator: Coordinator
    ) -> None:
        self._parts = parts
        self._executions = executions
        self._coordinator = coordinator
        self._clocks: dict[str, asyncio.Task[None]] = {}
        coordinator.on_idle = self._begin_to_wait

    def _begin_to_wait(self, session_id: str) -> None:
        running = self._clocks.pop(session_id, None)
        if running is not None:
            running.cancel()
        if self._executions.live(session_id) is None:
            return
        clock = self._parts.tasks.start(self._wait(session_id), name=f"idling of {session_id}")
        self._clocks[session_id] = clock

    async def _wait(self, session_id: str) -> None:
        await self._parts.clock.sleep(self._parts.settings.idle_ms)
        self._clocks.pop(session_id, None)
        live = self._executions.live(session_id)
        if live is None or self._coordinator.status(session_id).word != "idle":
            return  # it is at work again, and its next end begins to wait anew
        # Taken out first: a turn that begins meanwhile gets a connection of its own.
        await self._executions.end(live, reason="idle", grace_ms=self._parts.settings.stop_grace_ms)
