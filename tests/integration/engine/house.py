"""An engine over a real storage with the scripted agent and a clock that is moved by hand."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from spaced.clock import Clock
from spaced.domain.chat import ChatRequest
from spaced.domain.events.event import Event
from spaced.domain.json_values import JsonObject
from spaced.domain.profile import Profile
from spaced.domain.session import Session
from spaced.engine.announcements import Announcement
from spaced.engine.engine import Engine
from spaced.engine.parts import EngineSettings, Reach, never_crash
from spaced.engine.prompts import Address, PromptRequest, Receipt
from spaced.engine.recovery import Recovered
from spaced.engine.transcripts import all_items
from spaced.log.fact import fact_of
from spaced.log.read_models.catalogue import TABLES
from spaced.log.record import RecordedEvent
from spaced.runtime.protocol import RuntimeServices
from spaced.storage.protocol import Storage
from spaced.testing.fake_clock import FakeClock
from spaced.testing.samples import EVERYTHING, next_turn
from spaced.testing.storage_harness import StorageHarness
from spaced_acp.runtime import AcpRuntime
from spaced_command.runtime import CommandRuntime
from tests.integration.engine.wayward import WaywardRuntime

PATIENCE: Final = 20
"""Seconds that only a failing test waits."""

CORE_TABLES: Final = tuple(TABLES.values())
Step = Mapping[str, Any]


def say(text: str, **fields: Any) -> Step:
    """Return a step that says something."""
    return {"do": "say", "text": text, **fields}


def gate(name: str = "gate") -> Step:
    """Return a step that waits until the test opens a gate."""
    return {"do": "gate", "name": name}


def text_prompt(text: str) -> tuple[JsonObject, ...]:
    """Return the parts of a prompt of plain text."""
    return ({"type": "text", "text": text},)


@dataclass(eq=False)
class House:
    """One life of an engine, and what a test asks of it."""

    storage: Storage
    clock: FakeClock
    folder: Path
    settings: EngineSettings
    reach: Reach = never_crash
    engine_clock: Clock | None = None
    heard: list[Announcement] = field(default_factory=list)
    engine: Engine = field(init=False)
    recovered: Recovered = field(init=False)
    _runtimes: list[WaywardRuntime] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Put an engine together."""
        self.engine = Engine(
            self.storage,
            {"scripted": self._make, "acp": AcpRuntime, "command": CommandRuntime},
            clock=self.engine_clock or self.clock,
            state_folder=self.folder / "state",
            settings=self.settings,
            reach=self.reach,
        )
        self.engine.announcements.listen(self.heard.append)

    def _make(self, config: Mapping[str, object], services: RuntimeServices) -> WaywardRuntime:
        runtime = WaywardRuntime(config, services)
        self._runtimes.append(runtime)
        return runtime

    @property
    def runtime(self) -> WaywardRuntime:
        """The scripted runtime; it is there once a session needed it."""
        return self._runtimes[-1]

    @property
    def workplace(self) -> Path:
        """The folder that chats work in."""
        place = self.folder / "workplace"
        place.mkdir(exist_ok=True)
        return place

    async def profile(self, *turns: Sequence[Step], **fields: Any) -> str:
        """Create a profile whose agent plays these turns one after the other."""
        options = {"script": [list(turn) for turn in turns]} if turns else {}
        options |= fields.pop("options", {})
        profile = Profile(
            name=f"scripted {self.clock.now()}",
            agent_name="scripted",
            runtime="scripted",
            options=options,
            **fields,
        )
        return (await self.engine.profiles.create(profile)).id

    async def mend_profile(self, profile_id: str) -> None:
        """Take out of a profile what makes its agent wayward."""
        profiles = self.engine.profiles
        profile = (await profiles.get(profile_id)).profile
        options = {k: v for k, v in (profile.options or {}).items() if k != "open"}
        await profiles.change(profile_id, replace(profile, options=options), expected_revision=None)

    async def chat(
        self, *turns: Sequence[Step], request: Mapping[str, Any] | None = None, **fields: Any
    ) -> str:
        """Create a chat with an agent that plays these turns."""
        profile_id = await self.profile(*turns, **fields)
        chat = ChatRequest(profile_id=profile_id, directory=str(self.workplace), **(request or {}))
        return (await self.engine.sessions.create(chat)).id

    async def send(self, session_id: str, text: str, **fields: Any) -> Receipt:
        """Admit a prompt and let the session begin."""
        request = PromptRequest(parts=text_prompt(text), **fields)
        return await self.engine.prompts.send(Address(kind="session", id=session_id), request)

    async def idle(self, session_id: str) -> None:
        """Wait until a session is doing nothing."""
        async with asyncio.timeout(PATIENCE):
            await self.engine.coordinator.idle(session_id)

    async def turn(self, session_id: str, text: str = "go", **fields: Any) -> None:
        """Send a prompt and wait until it is answered."""
        await self.send(session_id, text, **fields)
        await self.idle(session_id)

    async def reached(self, name: str = "gate") -> None:
        """Wait until an agent stands before a gate."""
        async with asyncio.timeout(PATIENCE):
            while not self._runtimes:
                await next_turn()
            await self.runtime.gates.reached(name)

    async def until_word(self, session_id: str, word: str) -> None:
        """Wait until a session's live status is this word."""
        async with asyncio.timeout(PATIENCE):
            while self.engine.coordinator.status(session_id).word != word:
                await next_turn()

    async def until_asked(self, session_id: str) -> str:
        """Wait until a session has an open ask, and return its id."""
        async with asyncio.timeout(PATIENCE):
            while not (asks := await self.engine.asks.open(session_id)):
                await next_turn()
        return asks[0].id

    async def pass_time(self, milliseconds: int, *, sleepers: int = 1) -> None:
        """Move the clock once somebody waits for it."""
        async with asyncio.timeout(PATIENCE):
            while self.clock.sleepers < sleepers:
                await next_turn()
        self.clock.advance(milliseconds=milliseconds)

    async def session(self, session_id: str) -> Session:
        """Return a session's state."""
        return await self.engine.sessions.get(session_id)

    async def items(self, session_id: str, run_id: str | None = None) -> list[JsonObject]:
        """Return a session's transcript."""
        return list(await all_items(self.storage, run_id or session_id, session_id))

    async def texts(self, session_id: str) -> list[str]:
        """Return what was said in a session, by whom, in order."""
        return [
            f"{item['role']}: {item['content']}"
            for item in await self.items(session_id)
            if item["type"] == "message"
        ]

    async def recorded(self, run_id: str) -> Sequence[RecordedEvent]:
        """Return the events of a run's stream."""
        return await self.storage.read_stream(run_id)

    async def events(self, run_id: str) -> list[Event]:
        """Return the events of a run's stream, decoded."""
        return [fact.event for one in await self.recorded(run_id) if (fact := fact_of(one))]

    async def kinds(self, run_id: str) -> list[str]:
        """Return the kinds of a run's events in order."""
        return [event.kind for event in await self.recorded(run_id)]

    async def found(self, run_id: str, kind: type[Any]) -> list[Any]:
        """Return a run's events of one kind."""
        return [event for event in await self.events(run_id) if isinstance(event, kind)]

    async def log(self) -> Sequence[RecordedEvent]:
        """Return the whole log."""
        return await self.storage.read_all(after=0, limit=EVERYTHING)

    async def die(self) -> None:
        """End this life as a crash would: nothing more is written."""
        for live in self.engine.executions.all():
            live.sink.close()
        await self.engine._parts.tasks.close()
        for runtime in self._runtimes:
            await runtime.close()
        await self.engine._processes.close()


class Houses:
    """Opens houses, crashes them and ends them all."""

    def __init__(self, harness: StorageHarness, folder: Path) -> None:
        self._harness = harness
        self._folder = folder
        self._open: list[House] = []

    async def open(
        self,
        *,
        storage: Storage | None = None,
        reach: Reach = never_crash,
        clock: Clock | None = None,
        **settings: Any,
    ) -> House:
        """Start an engine over an empty storage or over this one, perhaps by another clock."""
        house = House(
            storage=storage or await self._harness.open(CORE_TABLES),
            clock=self._harness.clock,
            folder=self._folder,
            settings=EngineSettings(**settings),
            reach=reach,
            engine_clock=clock,
        )
        self._open.append(house)
        house.recovered = await house.engine.start()
        return house

    async def crash(self, house: House, **settings: Any) -> House:
        """Return the next life of a house that died at this moment."""
        captured = self._harness.capture(house.storage)
        self._open.remove(house)
        await house.die()
        storage = await self._harness.open_captured(captured)
        return await self.open(storage=storage, **settings)

    async def restart(self, house: House, **settings: Any) -> House:
        """Stop a house well and return its next life."""
        self._open.remove(house)
        await house.engine.stop()
        storage = await self._harness.reopen(house.storage)
        return await self.open(storage=storage, **settings)

    async def close(self) -> None:
        """End every house that is open."""
        for house in self._open:
            await house.die()


@asynccontextmanager
async def houses_over(harness: StorageHarness, folder: Path) -> AsyncIterator[Houses]:
    """Open houses over the storages of a harness, and leave nothing behind."""
    houses = Houses(harness, folder)
    try:
        yield houses
    finally:
        await houses.close()
