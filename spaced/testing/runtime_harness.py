"""How the runtime contract makes an agent do things, and what it lends to a runtime.

An author says, for each of a few behaviours, with which profile the agent shows it. Time is a fake
clock's for the runtime; processes are real and live in real time, under a supervisor that records
them, so that the contract can look for those that were left.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final, Literal, get_args
from uuid import uuid4

import pytest

from spaced.clock import SystemClock
from spaced.domain.json_values import JsonObject
from spaced.domain.profile import Profile
from spaced.errors import UnknownBlob
from spaced.runtime.processes.facts import ProcessFacts
from spaced.runtime.processes.process_table import ProcessTable
from spaced.runtime.processes.supervisor import ProcessSupervisor
from spaced.runtime.protocol import (
    AgentConnection,
    AgentRuntime,
    Prompt,
    RuntimeFactory,
    RuntimeServices,
    SessionSpec,
    Turn,
)
from spaced.testing.fake_clock import FakeClock
from spaced.testing.recording_sink import PATIENCE_SECONDS, RecordingSink
from spaced.testing.samples import next_turn

Behaviour = Literal[
    "replies",
    "streams",
    "uses a tool",
    "asks permission",
    "asks a question",
    "hangs",
    "refuses to stop",
    "crashes",
    "broken",
]
BEHAVIOURS: Final[tuple[Behaviour, ...]] = get_args(Behaviour)

STREAMED: Final = "".join(f"Line {number} of what is streamed.\n" for number in range(1, 41))
"""What an agent that streams says, as one message in three pieces or more."""

_QUIET_TURNS = 30


class RecordedProcesses:
    """Remembers every process that was ever started."""

    def __init__(self) -> None:
        self.ever: list[ProcessFacts] = []

    async def started(self, facts: ProcessFacts) -> None:
        """Remember it."""
        self.ever.append(facts)

    async def gone(self, facts: ProcessFacts) -> None:
        """Nothing is forgotten here."""

    async def left_over(self) -> Sequence[ProcessFacts]:
        """There was no earlier life."""
        return ()

    def alive(self) -> list[ProcessFacts]:
        """Return those that run now."""
        table = ProcessTable()
        return [facts for facts in self.ever if table.started(facts.pid) == facts.started]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAgent:
    """An execution, as a test holds it."""

    runtime: AgentRuntime
    session: SessionSpec
    connection: AgentConnection
    sink: RecordingSink

    async def prompt(self, text: str = "Hello", *, turn_id: str = "turn-1") -> None:
        """Start a turn with one prompt."""
        prompt = prompt_with(text, prompt_id=f"{turn_id}-prompt")
        await self.connection.start_turn(Turn(id=turn_id, prompts=(prompt,)))


class RuntimeHarness(ABC):
    """Opens agents for the tests of the contract, and closes them all in the end."""

    def __init__(
        self,
        factory: RuntimeFactory,
        scratch: Path,
        *,
        config: Mapping[str, object] | None = None,
        environment: Mapping[str, str] | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """Get ready to make runtimes.

        Args:
            factory: makes the runtime to prove.
            scratch: an empty folder for the state of the runtime and for sessions.
            config: the settings that the factory is given.
            environment: what the agent's processes see.
            patience_seconds: how long to wait for what should come.
        """
        self.clock = FakeClock()
        self.processes = RecordedProcesses()
        self.folder = scratch / "session"
        self._factory = factory
        self.patience_seconds = patience_seconds
        self.blobs: dict[str, bytes] = {}
        self._scratch = scratch
        self._config = dict(config or {})
        self.environment = dict(environment or {})
        # Two test runs at once must not take each other's processes for their own.
        owner = f"runtime-contract-{uuid4().hex}"
        self._supervisor = ProcessSupervisor(SystemClock(), owner, self.processes)
        self._runtimes: list[AgentRuntime] = []
        self._numbers = count(1)

    @abstractmethod
    def profile_that(self, behaviour: Behaviour) -> Profile | None:
        """Return a profile whose agent behaves like this; `None` if the agent cannot.

        - `replies`: answers each prompt at once, with a message that holds the prompt's text.
        - `streams`: answers with `STREAMED` and nothing else, in three pieces or more.
        - `uses a tool`: makes one tool call that succeeds, and shows its result.
        - `asks permission`: wants to be allowed a tool call; makes it or reports it as failed.
        - `asks a question`: asks one, then says a text that holds the answer.
        - `hangs`: reports something, and ends the turn only when it is interrupted.
        - `refuses to stop`: the same, but no interrupt ends the turn.
        - `crashes`: its execution ends by itself during the turn.
        - `broken`: could not serve a session.
        """

    def why_not(self, behaviour: Behaviour) -> str:
        """Say why the agent cannot behave like this; override it to say more."""
        return f"this agent cannot be made to behave so: {behaviour}"

    def profile(self, behaviour: Behaviour) -> Profile:
        """Return the profile for a behaviour, or skip the test."""
        profile = self.profile_that(behaviour)
        if profile is None:
            pytest.skip(self.why_not(behaviour))
        return profile

    def new_runtime(self) -> AgentRuntime:
        """Return another runtime with the same state folder, as after a restart."""
        runtime = self._factory(self._config, self.services())
        self._runtimes.append(runtime)
        return runtime

    def services(self) -> RuntimeServices:
        """Return what a runtime is lent."""
        return RuntimeServices(
            clock=self.clock,
            log=logging.getLogger("spaced.testing.runtime"),
            state_folder=self._scratch / "state",
            spawn=self._supervisor,
            redact=lambda text: text,
            read_blob=self._read_blob,
        )

    async def _read_blob(self, blob_id: str) -> bytes:
        if blob_id not in self.blobs:
            raise UnknownBlob(blob_id)
        return self.blobs[blob_id]

    def session_for(self, profile: Profile, *, session_id: str = "ses-1") -> SessionSpec:
        """Return a session with a folder of its own and a new execution."""
        folder = self.folder / session_id
        folder.mkdir(parents=True, exist_ok=True)
        return SessionSpec(
            session_id=session_id,
            run_id=f"wf-{session_id}",
            profile_id=f"prof-{profile.name}",
            execution_id=f"exe-{next(self._numbers)}",
            generation=1,
            directory=str(folder),
            profile=profile,
            environment=self.environment,
        )

    async def open(
        self,
        behaviour: Behaviour,
        *,
        runtime: AgentRuntime | None = None,
        continuity: JsonObject | None = None,
        session_id: str = "ses-1",
    ) -> OpenAgent:
        """Open an agent that behaves like this, or skip the test."""
        return await self.open_with(
            self.profile(behaviour), runtime=runtime, continuity=continuity, session_id=session_id
        )

    async def open_with(
        self,
        profile: Profile,
        *,
        runtime: AgentRuntime | None = None,
        continuity: JsonObject | None = None,
        session_id: str = "ses-1",
    ) -> OpenAgent:
        """Open the agent of a profile."""
        runtime = runtime or self.new_runtime()
        session = self.session_for(profile, session_id=session_id)
        sink = RecordingSink(patience_seconds=self.patience_seconds)
        connection = await runtime.open(session, continuity, sink)
        return OpenAgent(runtime=runtime, session=session, connection=connection, sink=sink)

    async def settle(self) -> None:
        """Let everything happen that would happen by itself, up to an hour from now."""
        for _ in range(3):
            await asyncio.to_thread(lambda: None)
            for _ in range(_QUIET_TURNS):
                await next_turn()
            self.clock.advance(seconds=1200)

    async def close(self) -> None:
        """Close every runtime and end every process."""
        try:
            for runtime in self._runtimes:
                async with asyncio.timeout(self.patience_seconds):
                    await runtime.close()
        finally:
            await self._supervisor.close()


def prompt_with(text: str, *, prompt_id: str = "msg-1") -> Prompt:
    """Return a prompt of one text."""
    return Prompt(id=prompt_id, parts=({"type": "text", "text": text},))
