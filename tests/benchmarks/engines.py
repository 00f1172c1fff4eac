"""Engines to measure with: every real part over a real storage, with scripted agents."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from spaced.clock import Clock, SystemClock
from spaced.domain.chat import ChatRequest
from spaced.domain.json_values import JsonObject
from spaced.domain.profile import Profile
from spaced.engine.engine import Engine
from spaced.engine.parts import EngineSettings
from spaced.engine.prompts import Address, PromptRequest
from spaced.runtime.protocol import AgentConnection, RuntimeServices, SessionSpec, Sink
from spaced.runtime.updates import TextAppended, Update
from spaced.storage.protocol import Storage
from spaced.testing.fake_clock import FakeClock
from spaced_acp.runtime import AcpRuntime
from spaced_scripted.runtime import ScriptedRuntime
from tests.benchmarks.chats import PROMPT_TEXT, open_storage
from tests.benchmarks.measure import nothing

Hook: TypeAlias = Callable[[], Awaitable[None]]
Step: TypeAlias = Mapping[str, Any]

_SCRIPT = "script.json"
_SETTINGS = EngineSettings(concurrent_turns=1000, stop_grace_ms=0)
_PROFILE = Profile(
    name="Scripted",
    agent_name="scripted",
    runtime="scripted",
    options={"script_file": _SCRIPT},
)


class Pace:
    """Time that passes only while agents send text: a clock and a host's hook.

    Attributes:
        clock: moved by so many milliseconds before each piece.
    """

    def __init__(self, milliseconds: int) -> None:
        self.clock = FakeClock()
        self._milliseconds = milliseconds

    async def before_text(self) -> None:
        """Let the time until the next piece pass."""
        self.clock.advance(milliseconds=self._milliseconds)


class _PacedSink:
    def __init__(self, sink: Sink, before_text: Hook) -> None:
        self._sink = sink
        self._before_text = before_text

    async def report(self, update: Update) -> None:
        if isinstance(update, TextAppended):
            await self._before_text()
        await self._sink.report(update)


class PacedRuntime(ScriptedRuntime):
    """Scripted agents that send each piece of text when they are let."""

    def __init__(
        self,
        config: Mapping[str, object],
        services: RuntimeServices,
        before_text: Hook,
        *,
        can_reattach: bool,
    ) -> None:
        """Begin with nothing opened.

        Args:
            before_text: awaited before each piece.
        """
        super().__init__(config, services)
        self._before_text = before_text
        self.capabilities = replace(self.capabilities, reattach=can_reattach)

    async def open(
        self, session: SessionSpec, continuity: JsonObject | None, sink: Sink
    ) -> AgentConnection:
        """Begin an execution whose text has to wait."""
        return await super().open(session, continuity, _PacedSink(sink, self._before_text))


class Host:
    """An engine that runs, and what a benchmark asks of it.

    Attributes:
        engine: all of it is real; nothing is made for benchmarks but the agents.
    """

    def __init__(self, storage: Storage, folder: Path, engine: Engine) -> None:
        self.storage = storage
        self.engine = engine
        self._work = folder.with_name(f"{folder.name}-work")
        self._numbers = count()
        self._profile_id: str | None = None

    @classmethod
    async def open(
        cls,
        folder: Path,
        *,
        clock: Clock | None = None,
        before_text: Hook = nothing,
        can_reattach: bool = True,
        through: Callable[[Storage], Storage] = lambda storage: storage,
    ) -> "Host":
        """Open a storage and start an engine over it.

        Args:
            before_text: awaited before each piece of text that an agent sends.
            can_reattach: whether agents of an earlier life are looked for.
            through: puts something between the engine and its storage.
        """
        clock = clock or SystemClock()
        storage = through(await open_storage(folder, clock))
        engine = Engine(
            storage,
            {
                "scripted": lambda config, lent: PacedRuntime(
                    config, lent, before_text, can_reattach=can_reattach
                ),
                "acp": AcpRuntime,
            },
            clock=clock,
            state_folder=folder.with_name(f"{folder.name}-state"),
            settings=_SETTINGS,
        )
        await engine.start()
        return cls(storage, folder, engine)

    async def chat(self, *turns: Sequence[Step]) -> str:
        """Create a chat in a folder of its own; its agent plays these turns, the last repeats."""
        if self._profile_id is None:
            self._profile_id = (await self.engine.profiles.create(_PROFILE)).id
        place = self._work / str(next(self._numbers))
        place.mkdir(parents=True, exist_ok=True)
        if turns:
            # In a file: in a profile or a prompt it would count as something that was recorded.
            (place / _SCRIPT).write_text(json.dumps(turns))
        request = ChatRequest(profile_id=self._profile_id, directory=str(place))
        return (await self.engine.sessions.create(request)).id

    async def chats(self, number: int) -> list[str]:
        """Create chats whose agents are never asked."""
        return [await self.chat() for _ in range(number)]

    async def admit(self, session_id: str) -> None:
        """Admit a prompt, and no more: it is held, so that its session does not begin."""
        await self.engine.prompts.admit(*_asked(session_id, wake=False))

    async def prompt(self, session_id: str) -> None:
        """Admit a prompt and let its session begin."""
        await self.engine.prompts.send(*_asked(session_id, wake=True))

    async def turn(self, session_id: str) -> None:
        """Send a prompt and wait until its turn is over."""
        await self.prompt(session_id)
        await self.engine.coordinator.idle(session_id)

    async def settle(self) -> None:
        """Return when no write and no checkpoint is on its way."""
        await self.storage.append([])

    async def close(self) -> None:
        """End every turn, the engine and its storage."""
        await self.engine.stop()
        await self.storage.close()


def _asked(session_id: str, *, wake: bool) -> tuple[Address, PromptRequest]:
    parts = ({"type": "text", "text": PROMPT_TEXT},)
    return Address(kind="session", id=session_id), PromptRequest(parts=parts, wake=wake)
