"""The process of the kill sweep: it forks lives of an engine, each of which ends where it is told.

The parent has imported everything, so that a life costs little more than its own appends. Each
receipt is written with one system call once it is there, so that one that can be read was given.
"""

import asyncio
import json
import os
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import cast

from spaced.engine.prompts import Receipt
from tests.end_to_end.sweep_life import PATIENCE, AgentKind, Fate, Household, Life


def tell(receipt: Receipt) -> None:
    """Write a receipt for the parent to read."""
    os.write(1, json.dumps({"receipt": asdict(receipt)}).encode() + b"\n")


async def live(order: dict[str, str]) -> None:
    """Live one life, and tell which places it passed if it was not killed at one."""
    household = Household(folder=Path(order["folder"]), agent=cast("AgentKind", order["agent"]))
    fate = Fate(order["place"])
    async with asyncio.timeout(PATIENCE):
        storage = await household.storage()
        life = Life(order["life"], household, storage, fate, tell)
        await (life.first() if order["life"] == "first" else life.again())
        await storage.close()
    os.write(1, json.dumps({"seen": fate.seen}).encode() + b"\n")


def main() -> None:
    """Fork a life for each line that is read, and pass on what it says until it is gone."""
    for line in sys.stdin:
        said, says = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(says, 1)
            os.close(said)
            _be_child(json.loads(line))
        os.close(says)
        while chunk := os.read(said, 65536):
            os.write(1, chunk)
        os.close(said)
        _, status = os.waitpid(pid, 0)
        os.write(1, json.dumps({"gone": os.waitstatus_to_exitcode(status)}).encode() + b"\n")


def _be_child(order: dict[str, str]) -> None:
    """Live and leave, whatever happens without a word of the parent's on the way out."""
    code = 1
    try:
        asyncio.run(live(order))
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
