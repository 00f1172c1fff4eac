"""A process of its own in which agents are in the middle of their turns when it is killed."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.benchmarks.child import say
from tests.benchmarks.engines import Host, Step


class Crowd:
    """Notes how many agents stand in the middle of a text; a host's hook."""

    def __init__(self, number: int, pieces: int) -> None:
        self._left = number
        self._pieces = number * pieces
        self._never = asyncio.Event()
        self.is_there = asyncio.Event()

    async def before_text(self) -> None:
        """Let so many pieces pass, which are fewer than one agent has, and then none."""
        if self._pieces:
            self._pieces -= 1
            return
        self._left -= 1
        if not self._left:
            self.is_there.set()
        await self._never.wait()


async def main(folder: Path, number: int) -> None:
    """Let so many sessions work, say which, and die."""
    crowd = Crowd(number, pieces=20)
    host = await Host.open(folder, before_text=crowd.before_text)
    tool: Step = {"do": "tool", "name": "look", "output": "int main;"}
    talk: Step = {"do": "say", "text": "All is well so far. " * 2000, "piece_length": 60}
    session_ids = [await host.chat([tool, talk]) for _ in range(number)]
    for session_id in session_ids:
        await host.prompt(session_id)
    await crowd.is_there.wait()
    await host.settle()
    say({"session_ids": session_ids})
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
