"""The runtime `scripted`: agents that play scripts, in this process and without any network."""

from collections.abc import Callable, Mapping
from typing import Final
from uuid import uuid4

from spaced.plugin_api import (
    AgentConnection,
    Capabilities,
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
    Tasks,
)
from spaced_scripted.commands import Commands
from spaced_scripted.connection import ScriptedConnection
from spaced_scripted.gates import Gates
from spaced_scripted.memory import Conversation, Memory
from spaced_scripted.scripts import check
from spaced_scripted.stage import Stage
from spaced_scripted.steps import ScriptProblem

_LOST: Final = "The scripted agent does not know the conversation any more."


def _random_id() -> str:
    return uuid4().hex


class ScriptedRuntime:
    """Opens scripted agents; tests that run in this process release them through `gates`."""

    capabilities = Capabilities(
        steer=True,
        resume=True,
        reattach=True,
        asks=True,
        images=True,
        compact=True,
        cancel_grace_ms=2000,
    )

    def __init__(
        self,
        config: Mapping[str, object],  # noqa: ARG002 - every runtime is offered settings
        services: RuntimeServices,
        *,
        new_id: Callable[[], str] = _random_id,
    ) -> None:
        self.gates = Gates()
        self._services = services
        self._memory = Memory(services.state_folder, services.log)
        self._new_id = new_id
        self._connections: set[ScriptedConnection] = set()
        self._is_closed = False

    async def probe(self, profile: Profile, environment: Mapping[str, str]) -> ProbeReport:
        """Read the profile's script; one that lies in a file is looked for without a session."""
        del environment  # no process is started for a probe
        try:
            turns = await check(profile.options or {}, directory=".")
        except ScriptProblem as problem:
            return ProbeReport(problem=_bad_script(problem))
        return ProbeReport(details={"turns": turns, "is_default": turns == 0})

    async def open(
        self, session: SessionSpec, continuity: JsonObject | None, sink: Sink
    ) -> AgentConnection:
        """Begin an execution, with the conversation that the continuity names."""
        known = None if continuity is None else await self._memory.load(continuity)
        stage = self._stage(session, sink, known)
        stage.conversation.turn = None
        stage.conversation.session_id = session.session_id  # a follow-up takes it over
        stage.conversation.is_reachable = stage.survives
        if continuity is not None and known is None:
            await stage.reporter.report(ConversationLost(message=_LOST))
        return self._keep(stage)

    async def reattach(
        self,
        session: SessionSpec,
        continuity: JsonObject,
        sink: Sink,
        turn_id: str | None = None,
    ) -> AgentConnection | None:
        """Find an agent whose profile says `survives`; it plays on where it was."""
        known = await self._memory.load(continuity)
        if known is None or not known.is_reachable or known.session_id != session.session_id:
            return None
        if turn_id is not None and (known.turn is None or known.turn.id != turn_id):
            return None
        stage = self._stage(session, sink, known)
        connection = self._keep(stage)
        if known.turn is not None:
            connection.go_on(known.turn)
        return connection

    async def close(self) -> None:
        """Let go of every agent; those that survive can be found again."""
        self._is_closed = True
        for connection in list(self._connections):
            await connection.let_go()

    def _stage(self, session: SessionSpec, sink: Sink, known: Conversation | None) -> Stage:
        if self._is_closed:
            raise RuntimeProblem("the scripted runtime is closed", remedy="Start the daemon again.")
        tasks = Tasks(self._services.log)
        fresh = Conversation(id=self._new_id(), session_id=session.session_id)
        return Stage(
            session=session,
            clock=self._services.clock,
            log=self._services.log,
            gates=self.gates,
            memory=self._memory,
            tasks=tasks,
            reporter=Reporter(sink, tasks),
            commands=Commands(self._services.spawn, session),
            conversation=known or fresh,
            new_id=self._new_id,
            options=dict(session.profile.options or {}),
            is_told=known is not None,
        )

    def _keep(self, stage: Stage) -> ScriptedConnection:
        connection = ScriptedConnection(stage, self._connections.discard)
        self._connections.add(connection)
        return connection


def _bad_script(problem: ScriptProblem) -> Problem:
    return Problem(
        code="bad-script",
        message=f"{problem}.",
        remedy="docs/scripted.md lists the steps and their keys.",
    )
