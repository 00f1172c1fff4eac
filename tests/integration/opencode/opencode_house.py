"""An engine whose agents are sessions of the small OpenCode server."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from spaced.clock import Clock, SystemClock
from spaced.domain.chat import ChatRequest
from spaced.domain.events.turn import TurnEnded
from spaced.engine.engine import Engine
from spaced.engine.parts import EngineSettings, Reach, never_crash
from spaced.runtime.protocol import RuntimeServices
from spaced.storage.protocol import Storage
from spaced.testing.samples import next_turn
from spaced_opencode.runtime import OpenCodeRuntime
from tests.contract.opencode_harness import opencode_profile
from tests.contract.opencode_runs import Run
from tests.contract.opencode_server import FakeOpenCode
from tests.integration.engine.house import CORE_TABLES, PATIENCE, House, Houses


class OpenCodeHouse(House):
    """One life of an engine, by the machine's clock."""

    def __post_init__(self) -> None:
        """Put an engine together."""
        self._opencode: list[OpenCodeRuntime] = []
        self.engine = Engine(
            self.storage,
            {"opencode": self._make_opencode},
            clock=self.engine_clock or self.clock,
            state_folder=self.folder / "state",
            settings=self.settings,
            reach=self.reach,
        )
        self.engine.announcements.listen(self.heard.append)

    async def chat_with(self, server: FakeOpenCode, model: str = "by hand", **fields: Any) -> str:
        """Create a chat on the server."""
        profile = opencode_profile(server.url, model=f"fake/{model}", **fields)
        made = await self.engine.profiles.create(profile)
        request = ChatRequest(profile_id=made.id, directory=str(self.workplace))
        return (await self.engine.sessions.create(request)).id

    async def run_in(self, server: FakeOpenCode) -> Run:
        """Return the run that the server has begun."""

        async def is_running() -> bool:
            return bool(server.runs)

        await self.until(is_running)
        return next(iter(server.runs.values()))

    async def said(self, chat: str) -> str:
        """Return what the agent has said."""
        items = await self.items(chat)
        said = [i for i in items if i["type"] == "message" and i["role"] == "assistant"]
        return "".join(str(item["content"]) for item in said)

    async def last_end(self, chat: str) -> TurnEnded:
        """Return how the last turn ended."""
        ends = await self.found(chat, TurnEnded)
        end: TurnEnded = ends[-1]
        return end

    async def until(self, is_so: Callable[[], Awaitable[bool]]) -> None:
        """Wait until something holds, which the server brings about."""
        async with asyncio.timeout(PATIENCE):
            while not await is_so():
                await next_turn()

    async def die(self) -> None:
        """End this life as a crash would: nothing more is written, and no agent is told."""
        await super().die()
        for runtime in self._opencode:
            await runtime.close()

    def _make_opencode(
        self, config: Mapping[str, object], services: RuntimeServices
    ) -> OpenCodeRuntime:
        runtime = OpenCodeRuntime(config, services)
        self._opencode.append(runtime)
        return runtime


class OpenCodeHouses(Houses):
    """Opens houses with this runtime."""

    async def open(
        self,
        *,
        storage: Storage | None = None,
        reach: Reach = never_crash,
        clock: Clock | None = None,
        **settings: Any,
    ) -> OpenCodeHouse:
        """Start an engine over an empty storage or over this one."""
        house = OpenCodeHouse(
            storage=storage or await self._harness.open(CORE_TABLES),
            clock=self._harness.clock,
            folder=self._folder,
            settings=EngineSettings(**settings),
            reach=reach,
            engine_clock=clock or SystemClock(),
        )
        self._open.append(house)
        house.recovered = await house.engine.start()
        return house

    async def next_life(self, house: OpenCodeHouse) -> OpenCodeHouse:
        """Return the next life of a house that died at this moment."""
        later = await self.crash(house)
        assert isinstance(later, OpenCodeHouse)
        return later
