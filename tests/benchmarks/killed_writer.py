"""A process of its own that writes to a storage until the WAL is large, and is killed in mid-work.

It never pauses, so that no checkpoint of a quiet moment empties the WAL.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.benchmarks.chats import Chat, message, new_chat, open_storage

_WRITERS = 64
_ENOUGH = 6_000_000


async def main(folder: Path) -> None:
    """Write until the WAL has six megabytes."""
    storage = await open_storage(folder)
    wal = folder / "spaced.db-wal"
    async with asyncio.TaskGroup() as group:
        for index in range(_WRITERS):
            chat = await new_chat(storage, f"ses_{os.getpid()}x{index:02d}")
            group.create_task(_write(chat, wal))


async def _write(chat: Chat, wal: Path) -> None:
    while True:
        await chat.append(*message(chat.new_item_id(), "All tests pass now. " * 20))
        _die_if_large(wal)


def _die_if_large(wal: Path) -> None:
    if wal.stat().st_size > _ENOUGH:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
