"""A daemon of which nothing is left but its processes: it starts some, tells so, and is killed."""

import asyncio
import sys
from pathlib import Path

from spaced.clock import SystemClock
from spaced.runtime.processes.supervisor import ProcessSupervisor
from tests.integration.processes.programs import Runaway
from tests.integration.processes.records import RecordsInFolder


async def main(owner: str, folder: Path) -> None:
    """Start two runaways for each of two executions: one with its parent, and an orphan."""
    async with ProcessSupervisor(
        SystemClock(), owner, RecordsInFolder(folder / "records")
    ) as spawn:
        for execution_id in ("exe_gone", "exe_kept"):
            for leave in (False, True):
                runaway = Runaway(folder, f"{execution_id}-{leave}")
                child = await spawn(runaway.request(execution_id, leave=leave))
                await anext(child.lines())
            await child.wait()
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
