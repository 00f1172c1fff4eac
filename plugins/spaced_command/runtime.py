"""The runtime `command`: agents that are one program, run once for each turn."""

import asyncio
import os
from collections.abc import Mapping
from typing import Final
from uuid import uuid4

from spaced.plugin_api import (
    AgentConnection,
    Capabilities,
    Child,
    ChildRequest,
    ConversationLost,
    JsonObject,
    ProbeReport,
    Problem,
    Profile,
    Reporter,
    RuntimeProblem,
    RuntimeServices,
    SessionSpec,
    Sink,
    SpawnRefused,
    Tasks,
)
from spaced_command.connection import CommandConnection
from spaced_command.options import read_options

_PROBE_MS: Final = 10_000
_LONGEST_VERSION: Final = 200


class CommandRuntime:
    """Opens sessions whose agents are commands."""

    capabilities = Capabilities(resume=True, cancel_grace_ms=2000)

    def __init__(self, config: Mapping[str, object], services: RuntimeServices) -> None:
        del config  # everything is a matter of the profile
        self._services = services
        self._connections: set[CommandConnection] = set()
        self._is_closed = False

    async def probe(self, profile: Profile, environment: Mapping[str, str]) -> ProbeReport:
        """Look whether the command is there; of a known tool also ask for its version."""
        try:
            options = read_options(profile.options)
            _check_program(profile)
            details: dict[str, object] = {"program": profile.command[0]}
            if options.preset is not None:
                details["version"] = await self._version(profile, environment)
        except RuntimeProblem as error:
            return ProbeReport(problem=Problem.of(error))
        return ProbeReport(details=details)

    async def open(
        self, session: SessionSpec, continuity: JsonObject | None, sink: Sink
    ) -> AgentConnection:
        """Get ready for turns; nothing is started yet."""
        if self._is_closed:
            raise RuntimeProblem("the runtime is closed", remedy="Start the daemon again.")
        options = read_options(session.profile.options)
        tasks = Tasks(self._services.log)
        reporter = Reporter(sink, tasks)
        known = None if continuity is None else continuity.get("id")
        conversation = known if isinstance(known, str) and options.resume else None
        if continuity is not None and conversation is None:
            words = "The command cannot go on with the conversation."
            await reporter.report(ConversationLost(message=words))
        connection = CommandConnection(
            session,
            options,
            reporter=reporter,
            tasks=tasks,
            services=self._services,
            on_closed=self._connections.discard,
            conversation=conversation,
        )
        self._connections.add(connection)
        return connection

    async def reattach(
        self,
        session: SessionSpec,
        continuity: JsonObject,
        sink: Sink,
        turn_id: str | None = None,
    ) -> AgentConnection | None:
        """Find nothing: a command's pipes end with the daemon that held them."""
        del session, continuity, sink, turn_id
        return None

    async def close(self) -> None:
        """End every command that runs."""
        self._is_closed = True
        for connection in list(self._connections):
            await connection.close(0)

    async def _version(self, profile: Profile, environment: Mapping[str, str]) -> str:
        child = await self._services.spawn(
            ChildRequest(
                execution_id=f"probe-{uuid4().hex}",
                command=(profile.command[0], "--version"),
                directory="/",
                environment=environment,
            )
        )
        tasks = Tasks(self._services.log)
        alarm = tasks.start(self._services.clock.sleep(_PROBE_MS), name="probe alarm")
        reading = tasks.start(_read_all(child), name="probe output")
        try:
            await asyncio.wait([reading, alarm], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await child.stop(0)
            alarm.cancel()
        printed = await reading
        await tasks.close()
        lines = printed.decode(errors="replace").strip().splitlines()
        return lines[0][:_LONGEST_VERSION] if lines else "unknown"


async def _read_all(child: Child) -> bytes:
    child.close_input()
    return b"".join([block async for block in child.chunks()])


def _check_program(profile: Profile) -> None:
    program = profile.command[0] if profile.command else ""
    if not os.access(program, os.X_OK) or os.path.isdir(program):  # noqa: PTH112 - as access is
        raise SpawnRefused(f"there is no program {program!r} that can be run")
