"""The steps by which a child is ended: politely, firmly, and then for good."""

import asyncio
from typing import Protocol

from spaced.clock import Clock
from spaced.runtime.child import Exit


class Stoppable(Protocol):
    """What the ladder does to a child."""

    def close_input(self) -> None:
        """Tell it that nothing more comes."""
        ...

    def terminate_group(self) -> None:
        """Ask its process group to end."""
        ...

    def kill_group(self) -> None:
        """End its process group."""
        ...

    async def wait(self) -> Exit:
        """Return when it has ended."""
        ...


async def climb(child: Stoppable, grace_ms: int, clock: Clock) -> None:
    """End a child and its group: two fifths of the grace before SIGTERM, the rest before SIGKILL.

    Once the child itself has ended, the rest of its group is not waited for.
    """
    if grace_ms > 0:
        before_term = grace_ms * 2 // 5
        child.close_input()
        if not await _ends_within(child, before_term, clock):
            child.terminate_group()
            await _ends_within(child, grace_ms - before_term, clock)
    child.kill_group()
    await child.wait()


async def _ends_within(child: Stoppable, milliseconds: int, clock: Clock) -> bool:
    # asyncio.timeout would do, if it went by the injected clock.
    async with asyncio.TaskGroup() as group:
        end = group.create_task(child.wait(), name="end of a child")
        alarm = group.create_task(clock.sleep(milliseconds), name="grace of a child")
        await asyncio.wait((end, alarm), return_when=asyncio.FIRST_COMPLETED)
        has_ended = end.done()
        end.cancel()
        alarm.cancel()
    return has_ended
