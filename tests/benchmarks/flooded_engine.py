"""A process of its own that takes a huge output of a tool, and says what memory that needs."""

import asyncio
import sys
from pathlib import Path

from tests.benchmarks.child import say
from tests.benchmarks.engines import Host
from tests.benchmarks.resources import peak_bytes

_WARM_UP = 1_000_000


async def main(folder: Path, size: int) -> None:
    """Take a small output, then the huge one."""
    host = await Host.open(folder)
    session_id = await host.chat(*([_flood(length)] for length in (_WARM_UP, size)))
    await host.turn(session_id)
    before = peak_bytes()
    await host.turn(session_id)
    say({"before": before, "peak": peak_bytes()})
    await host.close()


def _flood(length: int) -> dict[str, object]:
    return {"do": "flood", "bytes": length, "field": "output"}


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
