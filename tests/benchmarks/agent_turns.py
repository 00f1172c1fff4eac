"""Turns of an agent in a process of its own: what the daemon adds to them, and how they are ended."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from spaced.domain.chat import ChatRequest
from spaced.engine.announcements import Announcement, Committed
from spaced.testing.acp_harness import acp_profile
from tests.benchmarks.engines import Host
from tests.benchmarks.measure import Line, at_most, median, timed
from tests.benchmarks.serving import Served
from tests.benchmarks.stage import Stage

_TEXT = "Tell me how the harbour looks today, in a sentence or two."
_ADDED_MS = 15
_KILL_MS = 2000
_STUBBORN = {
    "ignores": ["cancel", "eof", "sigterm"],
    "turns": [[{"do": "say", "text": "You cannot stop me."}, {"do": "pause"}]],
}


async def text_turn(stage: Stage) -> list[Line]:
    """Let an agent repeat a prompt: through the daemon, and asked over its pipes by hand."""
    products: list[float] = []
    floors: list[float] = []
    memory = stage.new_folder()
    async with Served.open(stage) as served, bare_agent(memory / "bare") as bare:
        session_id = await _chat(served.host, memory / "ours", {})
        for number in range(stage.sizes.rounds * 2 + 1):
            found = await timed(lambda: _prompted(served, session_id)), await timed(bare.prompt)
            if number:
                products.append(found[0])
                floors.append(found[1])
    product, floor = median(products), median(floors)
    return [
        Line(
            moment="a text turn: added to the bare agent's own time",
            value=product - floor,
            unit="ms",
            budget=at_most(_ADDED_MS),
            product=product,
            floor=floor,
        )
    ]


async def killing(stage: Stage) -> list[Line]:
    """Interrupt an agent twice that ignores everything: until nothing of it is left."""
    times: list[float] = []
    host = await Host.open(stage.new_folder())
    for _ in range(max(3, stage.sizes.rounds // 10)):
        session_id = await _chat(host, stage.new_folder(), _STUBBORN)
        heard = asyncio.Event()

        def hear(announced: Announcement, heard: asyncio.Event = heard) -> None:
            kinds = announced.events if isinstance(announced, Committed) else ()
            if any(e.kind == "agent-item-appended" and b"cannot" in e.body for e in kinds):
                heard.set()

        stop_listening = host.engine.announcements.listen(hear)
        await host.prompt(session_id)
        await heard.wait()
        stop_listening()
        await host.engine.control.interrupt(session_id)

        async def kill(session_id: str = session_id) -> None:
            await host.engine.control.interrupt(session_id)
            await host.engine.coordinator.idle(session_id)

        times.append(await timed(kill))
    await host.close()
    return [
        Line(
            moment="kill of an agent that ignores everything → idle: median",
            value=median(times),
            unit="ms",
            budget=at_most(_KILL_MS),
        )
    ]


class BareAgent:
    """The same agent without a daemon."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._number = 0
        self._session = ""

    async def begin(self) -> None:
        """Greet it and begin a conversation."""
        await self._ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        begun = await self._ask("session/new", {"cwd": "/", "mcpServers": []})
        self._session = begun["sessionId"]

    async def prompt(self) -> None:
        """Prompt it and read until its turn is over."""
        prompt = [{"type": "text", "text": _TEXT}]
        await self._ask("session/prompt", {"sessionId": self._session, "prompt": prompt})

    async def _ask(self, method: str, params: dict[str, object]) -> dict[str, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        await self._process.stdin.drain()
        while True:
            message = json.loads(await self._process.stdout.readline())
            if message.get("id") == self._number:
                result: dict[str, str] = message["result"]
                return result


@asynccontextmanager
async def bare_agent(memory: Path) -> AsyncIterator[BareAgent]:
    """Run the agent with nothing but its pipes."""
    profile = acp_profile({}, memory)
    process = await asyncio.create_subprocess_exec(
        *profile.command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    agent = BareAgent(process)
    await agent.begin()
    try:
        yield agent
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def _chat(host: Host, memory: Path, script: dict[str, object]) -> str:
    profile = acp_profile(script, memory, cancel_grace_ms=600_000, name=f"agent {time.time_ns()}")
    made = await host.engine.profiles.create(profile)
    request = ChatRequest(profile_id=made.id, directory=str(memory.parent))
    return (await host.engine.sessions.create(request)).id


async def _prompted(served: Served, session_id: str) -> None:
    """Send a prompt over the socket and wait until its turn is over."""
    ended = asyncio.Event()

    def hear(announced: Announcement) -> None:
        events = announced.events if isinstance(announced, Committed) else ()
        if any(event.kind == "turn-ended" for event in events):
            ended.set()

    stop_listening = served.host.engine.announcements.listen(hear)
    body = msgspec.json.encode({"text": _TEXT})
    headers = {"Content-Type": "application/json"}
    target = f"http://x/v1/sessions/{session_id}/prompts"
    async with served.ours.post(target, data=body, headers=headers) as answer:
        assert answer.status == 202, await answer.text()
    await ended.wait()
    stop_listening()
