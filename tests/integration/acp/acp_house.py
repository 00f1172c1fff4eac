"""An engine whose agents are processes that speak the Agent Client Protocol, as a script says."""

import asyncio
import json
import os
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spaced.clock import SystemClock
from spaced.domain.chat import ChatRequest
from spaced.domain.events.prompt import PromptAdmitted
from spaced.domain.events.turn import TurnEnded
from spaced.domain.problem import Problem
from spaced.domain.prompt_parts import text_of
from spaced.runtime.processes.marker import execution_of, marks_in
from spaced.storage.protocol import StoragePlace
from spaced.testing.acp_harness import acp_profile
from spaced.testing.samples import next_turn
from tests.integration.acp.crash_point import CrashPoint
from tests.integration.engine.house import PATIENCE, House, Houses

Script = Mapping[str, Any]

GRACE_MS = 150
_QUICK: Mapping[str, Any] = {"cancel_grace_ms": GRACE_MS}


@dataclass(eq=False)
class AcpHouse:
    """One life of an engine, by the machine's clock: processes do not wait for a fake one.

    Attributes:
        memory: the folder in which the agents remember what they were sent.
        point: where this life ends, if a test says so.
    """

    houses: Houses
    house: House
    memory: Path
    point: CrashPoint = field(default_factory=CrashPoint)

    @classmethod
    async def open(cls, houses: Houses, memory: Path) -> "AcpHouse":
        """Open an engine over an empty storage."""
        point = CrashPoint()
        house = await houses.open(**_settings(point))
        return cls(houses=houses, house=house, memory=memory, point=point)

    async def crash(self) -> None:
        """Go on in the next life, after this one died at this moment."""
        self.house = await self.houses.crash(self.house, **_settings(self.point))

    async def crash_at(self, name: str, doing: Awaitable[object]) -> None:
        """Go on in the next life, after this one died at a named point of what it does."""
        harness, died = self.houses._harness, self.house
        self.point.arm(name, lambda: harness.capture(died.storage))
        with suppress(asyncio.CancelledError):
            await doing
        async with asyncio.timeout(PATIENCE):
            left = await self.point.left()
        self.houses._open.remove(died)
        await died.die()
        await self._begin_next_life(left)

    async def crash_without_agents(self) -> None:
        """Begin the next life while the agents of this one, which died, still live."""
        died = self.house
        left = self.houses._harness.capture(died.storage)
        for live in died.engine.executions.all():
            live.sink.close()
        await self._begin_next_life(left)
        # In one process the dead see what happens to their agents, and would sweep ours away.
        self.houses._open.remove(died)
        await died.die()

    async def restart(self) -> None:
        """Go on in the next life, after this one stopped well."""
        self.house = await self.houses.restart(self.house, **_settings(self.point))

    async def chat(self, script: Script | None = None, **fields: Any) -> str:
        """Create a chat with an agent that has a script."""
        profile = acp_profile(script or {}, self.memory, **{**_QUICK, **fields})
        made = await self.house.engine.profiles.create(profile)
        request = ChatRequest(profile_id=made.id, directory=str(self.house.workplace))
        return (await self.house.engine.sessions.create(request)).id

    async def retell(self, chat: str, script: Script, **fields: Any) -> None:
        """Give a chat's agent another script for its next process."""
        profiles = self.house.engine.profiles
        profile_id = (await self.house.session(chat)).agent_id or ""
        before = (await profiles.get(profile_id)).profile
        after = acp_profile(script, self.memory, **{**_QUICK, **fields})
        changed = replace(after, name=before.name)
        await profiles.change(profile_id, changed, expected_revision=None)

    async def turn(self, chat: str, text: str = "go") -> TurnEnded:
        """Send a prompt, wait until the session is idle, and return how its turn ended."""
        await self.house.turn(chat, text)
        return await self.last_end(chat)

    async def last_end(self, chat: str) -> TurnEnded:
        """Return how the last turn ended."""
        ends = await self.house.found(chat, TurnEnded)
        end: TurnEnded = ends[-1]
        return end

    async def problem(self, chat: str) -> Problem:
        """Return why the last turn failed, with a sentence and something to do about it."""
        problem = (await self.last_end(chat)).problem
        assert problem is not None
        assert problem.message
        assert problem.remedy
        assert "Traceback" not in problem.message
        return problem

    async def said(self, chat: str) -> list[str]:
        """Return what the agent said, message by message."""
        return [
            str(item["content"])
            for item in await self.house.items(chat)
            if item["type"] == "message" and item["role"] == "assistant"
        ]

    async def of(self, chat: str, item_type: str) -> list[Mapping[str, Any]]:
        """Return the items of a type."""
        return [item for item in await self.house.items(chat) if item["type"] == item_type]

    async def until(self, is_so: Any) -> None:
        """Wait until something holds, which an agent brings about."""
        async with asyncio.timeout(PATIENCE):
            while not await is_so():
                await next_turn()

    async def until_said(self, chat: str, text: str) -> None:
        """Wait until the agent has said something, in the log or on its way there."""

        async def is_there() -> bool:
            return text in "".join([*await self.said(chat), self.heard(chat)])

        await self.until(is_there)

    async def check_prompts(self, chat: str) -> None:
        """Check that the agent got what the log says: each prompt once, in order, untouched."""
        admitted = [text_of(event.parts) for event in await self.house.found(chat, PromptAdmitted)]
        got = [block["text"] for prompt in self.prompts() for block in prompt["prompt"]]
        assert [text for text in got if text in admitted] == admitted
        assert len(got) == len(set(got)) or len(got) == len(admitted)

    def prompts(self) -> Sequence[Mapping[str, Any]]:
        """Return every prompt that an agent was sent."""
        return self._journal("prompts")

    def received(self, method: str) -> Sequence[Mapping[str, Any]]:
        """Return every message of a method that an agent was sent."""
        return [m for m in self._journal("received") if m.get("method") == method]

    def answers(self) -> Sequence[Mapping[str, Any]]:
        """Return every answer that an agent was given."""
        return [m for m in self._journal("received") if "method" not in m]

    def check_nothing_is_left(self) -> None:
        """Check that no process carries the mark of this engine."""
        owner = self.house.storage.log_id
        left = [
            path.parent.name
            for path in Path("/proc").glob("[0-9]*/environ")
            if any(execution_of(mark, owner) for mark in marks_in(_read(path)))
        ]
        assert not left

    async def close_agents(self) -> None:
        """End every agent as a stop of the daemon does."""
        await self.house.engine.executions.end_all(reason="daemon-stopped")

    async def _begin_next_life(self, left: StoragePlace) -> None:
        storage = await self.houses._harness.open_captured(left)
        self.house = await self.houses.open(storage=storage, **_settings(self.point))

    def heard(self, chat: str) -> str:
        """Return all the text that was streamed to clients."""
        return "".join(
            getattr(one, "text", "")
            for one in self.house.heard
            if getattr(one, "session_id", None) == chat
        )

    def _journal(self, name: str) -> list[Mapping[str, Any]]:
        path = self.memory / f"{name}.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]


def _settings(point: CrashPoint) -> dict[str, Any]:
    return {
        "reach": point,
        "clock": SystemClock(),
        "environment": {"PATH": os.environ["PATH"]},
        "stop_grace_ms": GRACE_MS,
    }


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended, or is nobody's business of ours
        return b""
