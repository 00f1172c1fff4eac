"""A server of our own, for one execution: started by the profile's command, and ended with it.

One for each execution and not one for each profile: the daemon promises that nothing an execution
started outlives it, and a server's tools are the server's children.
"""

import asyncio
import re
import secrets
from typing import Any, Final

from spaced.plugin_api import (
    Child,
    ChildRequest,
    Clock,
    Exit,
    LineTooLong,
    RuntimeServices,
    Tasks,
)
from spaced_opencode.problems import ServerNotStarted

ARGUMENTS: Final = ("serve", "--hostname", "127.0.0.1", "--port", "0")

_START_MS: Final = 60_000
_LISTENING: Final = re.compile(rb"listening on (http://127\.0\.0\.1:\d+)")
_LONGEST_WORDS: Final = 300


class LocalServer:
    """A running server.

    Attributes:
        url: where it listens.
        password: what it was given, and nobody else knows.
    """

    def __init__(self, child: Child, url: str, password: str) -> None:
        self.url = url
        self.password = password
        self._child = child

    @classmethod
    async def start(
        cls,
        command: tuple[str, ...],
        request: ChildRequest,
        services: RuntimeServices,
        tasks: Tasks,
    ) -> "LocalServer":
        """Start a server and return once it listens.

        Args:
            command: the profile's.
            request: for whom and where; its command and its password are set here.

        Raises:
            RuntimeProblem: it cannot be started, ends, or does not listen in time.
        """
        password = secrets.token_urlsafe(32)
        child = await services.spawn(
            ChildRequest(
                execution_id=request.execution_id,
                command=(*command, *ARGUMENTS),
                directory=request.directory,
                environment={
                    "OPENCODE_DISABLE_AUTOUPDATE": "1",
                    **request.environment,
                    "OPENCODE_SERVER_USERNAME": "opencode",
                    "OPENCODE_SERVER_PASSWORD": password,
                },
            )
        )
        listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        reading = tasks.start(_read(child, listening), name="opencode output")
        timer = tasks.start(_wait(services.clock), name="opencode start")
        try:
            either: set[asyncio.Future[Any]] = {reading, timer, listening}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if listening.done():
                return cls(child, listening.result(), password)
        except BaseException:  # also when the caller gave up: nothing may stay
            await child.stop(0)
            raise
        finally:
            timer.cancel()
            listening.cancel()
        words = await _why(child, has_ended=reading.done())
        raise ServerNotStarted(f"the command {command[0]!r} {services.redact(words)}")

    async def ended(self) -> Exit:
        """Return how it ended, once it has."""
        return await self._child.wait()

    def last_words(self) -> str:
        """Return the end of what it has said on its error output."""
        return _last_line(self._child)

    async def stop(self, grace_ms: int) -> None:
        """End it and all that it has started."""
        await self._child.stop(grace_ms)


async def _read(child: Child, listening: asyncio.Future[str]) -> None:
    """Read all that it says, so that it never waits for a reader."""
    try:
        async for line in child.lines():
            found = _LISTENING.search(line)
            if found is not None and not listening.done():
                listening.set_result(found[1].decode())
    except LineTooLong:
        return


async def _wait(clock: Clock) -> None:
    await clock.sleep(_START_MS)


async def _why(child: Child, *, has_ended: bool) -> str:
    words = "has ended" if has_ended else f"did not listen within {_START_MS // 1000} seconds"
    exit_ = await child.stop(0)
    if has_ended and exit_.code is not None:
        words += f" with code {exit_.code}"
    line = _last_line(child)
    return f"{words}; its last words: {line}" if line else words


def _last_line(child: Child) -> str:
    lines = [line.strip() for line in child.error_output().splitlines() if line.strip()]
    return lines[-1][:_LONGEST_WORDS] if lines else ""
