"""The runtime `opencode`: sessions of an OpenCode server that runs anyway, or of one of our own."""

from collections.abc import Mapping

from spaced.plugin_api import (
    AgentConnection,
    Capabilities,
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
from spaced_opencode.agent import Agent
from spaced_opencode.connection import OpenCodeConnection
from spaced_opencode.probing import probe_server


class OpenCodeRuntime:
    """Opens sessions on OpenCode servers."""

    capabilities = Capabilities(
        steer=True, resume=True, reattach=True, asks=True, images=True, compact=True
    )

    def __init__(self, config: Mapping[str, object], services: RuntimeServices) -> None:
        del config  # everything is a matter of the profile
        self._services = services
        self._connections: set[OpenCodeConnection] = set()
        self._is_closed = False

    async def probe(self, profile: Profile, environment: Mapping[str, str]) -> ProbeReport:
        """Ask the profile's server what it offers; one of our own is started and ended for that."""
        try:
            return ProbeReport(details=await probe_server(profile, environment, self._services))
        except RuntimeProblem as error:
            return ProbeReport(problem=Problem.of(error))

    async def open(
        self, session: SessionSpec, continuity: JsonObject | None, sink: Sink
    ) -> AgentConnection:
        """Begin a session on the server, or go on with the one that the continuity names."""
        connection, agent = self._new(session, sink)
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
        """Find a turn again that has gone on without the daemon.

        Without a turn there is nothing to be found: the next one goes on with the conversation.
        """
        if turn_id is None:
            return None
        connection, agent = self._new(session, sink)
        try:
            is_found = await agent.find(continuity, turn_id)
        except BaseException:  # also when the caller gave up: nothing may stay
            await connection.let_go()
            raise
        if not is_found:
            await connection.let_go()
            return None
        return connection

    async def close(self) -> None:
        """Let go of every session; what runs on a server that stays can be found again."""
        self._is_closed = True
        for connection in list(self._connections):
            await connection.let_go()

    def _new(self, session: SessionSpec, sink: Sink) -> tuple[OpenCodeConnection, Agent]:
        if self._is_closed:
            raise RuntimeProblem("the runtime is closed", remedy="Start the daemon again.")
        tasks = Tasks(self._services.log)
        agent = Agent(session, Reporter(sink, tasks), tasks, self._services)
        connection = OpenCodeConnection(agent, self._connections.discard)
        self._connections.add(connection)
        return connection, agent
