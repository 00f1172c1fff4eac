"""Keeps one stream of events open: what it tells is heard in order, and a lost one is had again."""

import asyncio
from typing import Final, Protocol

from spaced.plugin_api import Clock, RuntimeProblem, Tasks
from spaced_opencode.event_source import ServerEvent
from spaced_opencode.problems import ServerUnreachable
from spaced_opencode.server_api import ServerApi

_FIRST_PAUSE_MS: Final = 250
_LONGEST_PAUSE_MS: Final = 30_000
_CONNECTED: Final = "server.connected"


class Listener(Protocol):
    """Takes what a feed tells, one thing after the other."""

    async def connected(self, *, is_again: bool) -> None:
        """Take that events come from now on; what was before a second connection was missed."""
        ...

    async def hear(self, event: ServerEvent) -> None:
        """Take an event."""
        ...

    async def lost(self, error: RuntimeProblem, attempt: int, next_in_ms: int) -> None:
        """Take that no events come; the next attempt follows."""
        ...


class Feed:
    """One session's stream.

    Attributes:
        is_connected: whether events come.
    """

    def __init__(self, api: ServerApi, listener: Listener, clock: Clock, tasks: Tasks) -> None:
        self.is_connected = False
        self._api = api
        self._listener = listener
        self._clock = clock
        self._tasks = tasks
        self._nudge = asyncio.Event()
        self._waiting: set[asyncio.Future[RuntimeProblem | None]] = set()
        self._was_connected = False

    def start(self) -> None:
        """Begin to listen; it goes on until the tasks are closed."""
        self._tasks.start(self._run(), name="opencode events")

    async def ensure(self) -> None:
        """Return once events come.

        Raises:
            RuntimeProblem: an attempt that was made for this has failed.
        """
        if self.is_connected:
            return
        outcome: asyncio.Future[RuntimeProblem | None] = asyncio.get_running_loop().create_future()
        self._waiting.add(outcome)
        self._nudge.set()
        try:
            problem = await outcome
        finally:
            self._waiting.discard(outcome)
        if problem is not None:
            raise problem

    def give_up(self) -> None:
        """Let nobody wait any more for a connection."""
        self._tell(ServerUnreachable(self._api.url, "the connection was closed"))

    async def _run(self) -> None:
        attempt = 0
        while True:
            try:
                attempt = await self._listen(attempt)
                error: RuntimeProblem = ServerUnreachable(self._api.url, "it ended the connection")
            except RuntimeProblem as problem:
                if self.is_connected:
                    attempt = 0
                error = problem
            self.is_connected = False
            attempt += 1
            self._tell(error)
            pause = min(_FIRST_PAUSE_MS << min(attempt - 1, 10), _LONGEST_PAUSE_MS)
            await self._listener.lost(error, attempt, pause)
            await self._pause(pause)

    async def _listen(self, attempt: int) -> int:
        async with self._api.events() as events:
            async for event in events:
                if event.type != _CONNECTED:
                    await self._listener.hear(event)
                    continue
                attempt = 0
                is_again, self._was_connected = self._was_connected, True
                await self._listener.connected(is_again=is_again)
                self.is_connected = True
                self._tell(None)
        return attempt

    async def _pause(self, milliseconds: int) -> None:
        self._nudge.clear()
        if self._waiting:
            return
        timer = self._tasks.start(self._wake_after(milliseconds), name="opencode pause")
        try:
            await self._nudge.wait()
        finally:
            timer.cancel()

    async def _wake_after(self, milliseconds: int) -> None:
        await self._clock.sleep(milliseconds)
        self._nudge.set()

    def _tell(self, problem: RuntimeProblem | None) -> None:
        for outcome in self._waiting:
            if not outcome.done():
                outcome.set_result(problem)
