"""The runtime `acp`: one process of an agent for each session, spoken to over its pipes."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from spaced.plugin_api import (
    AgentConnection,
    Capabilities,
    ChildRequest,
    JsonObject,
    ProbeReport,
    Problem,
    Profile,
    Reporter,
    RuntimeProblem,
    RuntimeServices,
    SessionSpec,
    Sink,
    Tasks,
)
from spaced_acp.agent import Agent
from spaced_acp.connection import AcpConnection
from spaced_acp.options import read_options
from spaced_acp.probing import probe_agent
from spaced_acp.starting import command_of


class AcpRuntime:
    """Opens agents that speak the Agent Client Protocol."""

    capabilities = Capabilities(resume=True, asks=True, images=True)

    def __init__(self, config: Mapping[str, object], services: RuntimeServices) -> None:
        del config  # everything is a matter of the profile
        self._services = services
        self._connections: set[AcpConnection] = set()
        self._is_closed = False

    async def probe(self, profile: Profile, environment: Mapping[str, str]) -> ProbeReport:
        """Start the profile's agent, greet it, and end it."""
        try:
            options = read_options(profile.options)
            folder = await asyncio.to_thread(self._folder)
            request = ChildRequest(
                execution_id=f"probe-{uuid4().hex}",
                command=command_of(profile),
                directory=str(folder),
                environment=environment,
            )
            return ProbeReport(details=await probe_agent(request, profile, options, self._services))
        except RuntimeProblem as error:
            return ProbeReport(problem=Problem.of(error))

    async def open(
        self, session: SessionSpec, continuity: JsonObject | None, sink: Sink
    ) -> AgentConnection:
        """Start an agent for a session and go on with its conversation."""
        if self._is_closed:
            raise RuntimeProblem("the runtime is closed", remedy="Start the daemon again.")
        tasks = Tasks(self._services.log)
        reporter = Reporter(sink, tasks)
        options = read_options(session.profile.options)
        agent = Agent(session, options, reporter, tasks, self._services)
        connection = AcpConnection(agent, self._connections.discard)
        self._connections.add(connection)
        try:
            await agent.open(continuity)
        except BaseException:  # also when the caller gave up: nothing may stay
            await connection.close(0)
            raise
        return connection

    async def reattach(
        self,
        session: SessionSpec,
        continuity: JsonObject,
        sink: Sink,
        turn_id: str | None = None,
    ) -> AgentConnection | None:
        """Find nothing: the pipes of an agent end with the daemon that held them."""
        del session, continuity, sink, turn_id
        return None

    def _folder(self) -> Path:
        folder = self._services.state_folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    async def close(self) -> None:
        """End every agent."""
        self._is_closed = True
        for connection in list(self._connections):
            await connection.close(0)
