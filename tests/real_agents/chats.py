"""A chat with a real agent in a real daemon, and what a test does with it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spaced.client import calls
from spaced.client.client import Client
from spaced.runtime.processes.marker import marks_in
from tests.end_to_end.daemons import PATIENCE, Daemon
from tests.end_to_end.test_command_line import Said, spaced
from tests.real_agents.agents import RealAgent


@dataclass(eq=False)
class Chat:
    """One session, and the daemon that serves it.

    Attributes:
        project: the folder that it works in.
    """

    daemon: Daemon
    client: Client
    agent: RealAgent
    project: Path
    id: str

    @classmethod
    @asynccontextmanager
    async def begun(cls, agent: RealAgent, project: Path) -> AsyncIterator["Chat"]:
        """Start a daemon with a chat; in the end no process of it may be left."""
        async with Daemon.running("--no-tcp") as daemon:
            client = daemon.client()
            await client.do(calls.create_profile("prof_real", agent.profile))
            session = await client.create_session(profile="prof_real", directory=str(project))
            log_id = (await client.status()).head.partition(".")[0]
            yield cls(daemon=daemon, client=client, agent=agent, project=project, id=session.id)
            await daemon.stop()
            assert not await asyncio.to_thread(left_of, log_id)

    async def another(self) -> "Chat":
        """Begin a second session of the same agent."""
        session = await self.client.create_session(profile="prof_real", directory=str(self.project))
        return Chat(
            daemon=self.daemon,
            client=self.client,
            agent=self.agent,
            project=self.project,
            id=session.id,
        )

    async def send(self, text: str) -> None:
        """Send a prompt; when this returns it is accepted."""
        await self.client.prompt(self.id, text)

    async def turn(self, text: str) -> str:
        """Send a prompt, wait until it is answered, and return how its turn ended."""
        await self.send(text)
        return await self.idle()

    async def idle(self) -> str:
        """Wait until the session is idle, and return how its last turn ended."""
        assert (await self.client.wait(self.id, timeout=PATIENCE)).done
        return str((await self.ends())[-1]["outcome"])

    async def ends(self) -> list[Mapping[str, Any]]:
        """Return how the turns ended."""
        page = await self.client.do(calls.events(self.id, kinds="turn-ended", limit=500))
        return [event.body for event in page.events]

    async def items(self) -> Sequence[Mapping[str, Any]]:
        """Return the transcript."""
        return (await self.client.items(self.id, limit=500)).items

    async def texts(self, role: str) -> list[str]:
        """Return what somebody said, message by message."""
        return [
            str(item["content"])
            for item in await self.items()
            if item["type"] == "message" and item["role"] == role
        ]

    async def of(self, item_type: str) -> list[Mapping[str, Any]]:
        """Return the items of a type."""
        return [item for item in await self.items() if item["type"] == item_type]

    async def until(self, is_so: Callable[[], Awaitable[bool]]) -> None:
        """Wait until something holds that the agent brings about."""
        async with (
            asyncio.timeout(PATIENCE),
            aclosing(self.client.events(self.id)) as frames,
        ):
            # The first frame comes once somebody listens, so nothing is missed before it.
            async for _ in frames:
                if await is_so():
                    return

    async def until_saying(self, text: str) -> None:
        """Wait until the agent has begun to say something.

        How much of it is in the log by then is the agent's business, which cuts it into pieces.
        """

        async def is_there() -> bool:
            return any(said and text.startswith(said) for said in await self.texts("assistant"))

        await self.until(is_there)

    async def until_asked(self) -> str:
        """Wait until the agent wants to be allowed something, and return the ask's id."""
        found: list[str] = []

        async def is_there() -> bool:
            asks = (await self.client.do(calls.permissions(self.id))).asks
            found[:] = [ask.id for ask in asks]
            return bool(found)

        await self.until(is_there)
        return found[0]

    async def answer(self, *, allow: bool) -> Said:
        """Answer the open permission on the command line, as a person does."""
        ask = await self.until_asked()
        shown = (await self.client.do(calls.permissions(self.id))).asks[0]
        wanted = "allow_once" if allow else "reject_once"
        options = shown.options or ()
        option = next(str(one["option_id"]) for one in options if one["kind"] == wanted)
        where = ("--data-dir", str(self.daemon.folder))
        return await spaced("permissions", "answer", ask, option, *where)


def left_of(log_id: str) -> list[str]:
    """Return the command lines of the processes that a daemon's agents have left."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            marks = marks_in(path.read_bytes())
            command = path.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if any(mark.startswith(f"{log_id}/") for mark in marks):
            found.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return found


def pids_of_agent(agent: RealAgent) -> list[int]:
    """Return the processes that run an agent's program for these tests."""
    program = str(agent.profile["command"][0]).encode()
    home = next(e for e in agent.profile["environment"] if e.startswith("HOME=")).encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            is_ours = home in path.with_name("environ").read_bytes().split(b"\0")
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if is_ours and program in words[:2]:
            found.append(int(path.parent.name))
    return found
