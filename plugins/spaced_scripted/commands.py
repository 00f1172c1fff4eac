"""Commands that a script really runs: supervised children of the session's execution."""

import asyncio
import codecs
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from spaced.plugin_api import Child, ChildRequest, Exit, SessionSpec, Spawn, SpawnRefused

GRACE_MS: Final = 2000
"""How long an interrupt may take, where the profile does not say."""


class Commands:
    """The running commands of one connection."""

    def __init__(self, spawn: Spawn, session: SessionSpec) -> None:
        self._spawn = spawn
        self._session = session
        self._running: set[Child] = set()
        # The daemon kills the agent after its whole grace, so half of it is the agent's own.
        grace = session.profile.cancel_grace_ms
        self._grace_ms = (GRACE_MS if grace is None else grace) // 2

    @asynccontextmanager
    async def start(self, command: Sequence[str]) -> AsyncIterator["Running"]:
        """Start a command; leaving the block before its end stops it.

        Raises:
            SpawnRefused: there is no such program.
        """
        child = await self._spawn(
            ChildRequest(
                execution_id=self._session.execution_id,
                command=(self._resolve(command[0]), *command[1:]),
                directory=self._session.directory,
                environment=self._session.environment,
            )
        )
        self._running.add(child)
        running = Running(child)
        child.close_input()
        try:
            yield running
        finally:
            # Also if it has ended: what it left behind goes with it, and so does its record.
            await child.stop(0 if running.has_ended else self._grace_ms)
            # Only here: if the stop itself was cut off, `stop_all` still has to do it.
            self._running.discard(child)

    async def stop_all(self, grace_ms: int) -> None:
        """Stop what is running; called again with less grace it hurries."""
        self.hurry(grace_ms)
        async with asyncio.TaskGroup() as group:
            for child in self._running:
                group.create_task(self._stop(child, grace_ms), name="scripted-stop")

    def hurry(self, grace_ms: int) -> None:
        """Let what is stopped from now on have this long."""
        self._grace_ms = grace_ms

    async def _stop(self, child: Child, grace_ms: int) -> None:
        await child.stop(grace_ms)
        self._running.discard(child)

    def _resolve(self, program: str) -> str:
        path = self._session.environment.get("PATH", os.defpath)
        found = shutil.which(program, path=path)
        if found is None:
            raise SpawnRefused(f"there is no program {program!r} on the session's PATH")
        return os.path.abspath(found)  # noqa: PTH100 - `Path.resolve` would follow links


class Running:
    """A command that runs."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self.has_ended = False

    async def output(self) -> AsyncIterator[str]:
        """Yield its output as it comes."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        async for chunk in self._child.chunks():
            if text := decoder.decode(chunk):
                yield text
        if rest := decoder.decode(b"", final=True):
            yield rest

    async def wait(self) -> Exit:
        """Return how it ended."""
        ended = await self._child.wait()
        self.has_ended = True
        return ended

    def error_output(self) -> str:
        """Return the end of what it complained about."""
        return self._child.error_output()
