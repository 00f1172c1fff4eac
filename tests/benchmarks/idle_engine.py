"""A process of its own that starts an engine, does nothing, and says what that costs.

With a folder it starts an engine over it; without one it has only imported the same modules. It
says what it holds, then how often it woke up between two lines that it is told.
"""

import asyncio
import gc
import os
import sys
from pathlib import Path
from selectors import DefaultSelector, SelectorKey
from time import process_time

from tests.benchmarks.child import say
from tests.benchmarks.engines import Host
from tests.benchmarks.resources import resident_bytes, wake_ups


class ObservedSelector(DefaultSelector):
    """Keeps for how long the event loop was ready to wait; `None` is until something happens."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        """Wait as always."""
        self.waits.append(timeout)
        return super().select(timeout)


async def main(folder: Path | None, selector: ObservedSelector) -> None:
    """Be idle."""
    host = None if folder is None else await Host.open(folder)
    told: asyncio.Queue[bytes] = asyncio.Queue()
    stdin = sys.stdin.fileno()
    asyncio.get_running_loop().add_reader(stdin, lambda: told.put_nowait(os.read(stdin, 100)))
    gc.collect()
    say({"bytes": resident_bytes()})
    await told.get()
    selector.waits.clear()
    woken, used = wake_ups(), process_time()
    await told.get()
    # The last wait is the one that this line has ended.
    timers = [wait for wait in selector.waits if wait]
    say(
        {
            "loop": max(0, len(selector.waits) - 1),
            "timers": len(timers),
            "wake_ups": wake_ups() - woken - 1,
            "cpu_ms": (process_time() - used) * 1000,
        }
    )
    if host is not None:
        await host.close()


if __name__ == "__main__":
    observed = ObservedSelector()
    place = Path(sys.argv[1]) if sys.argv[1:] else None
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(observed)) as runner:
        runner.run(main(place, observed))
