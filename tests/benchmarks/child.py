"""Processes of their own in which a benchmark looks at a whole program."""

import asyncio
import json
import sys
from typing import Any, cast


class Child:
    """A module that runs as a program, says JSON lines and is told lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, module: str, *arguments: object) -> "Child":
        """Start a module of this package."""
        return cls(
            await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", f"tests.benchmarks.{module}", *map(str, arguments)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
        )

    async def says(self) -> dict[str, Any]:
        """Return the next thing that it says."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        assert line, "the process has ended without a word"
        return cast("dict[str, Any]", json.loads(line))

    async def tell(self, word: str) -> None:
        """Tell it to go on."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n".encode())
        await self._process.stdin.drain()

    async def ended(self) -> int:
        """Let it end and return its exit code; it is negative after a signal."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return await self._process.wait()


def say(found: dict[str, object]) -> None:
    """Say something to the parent."""
    print(json.dumps(found), flush=True)
