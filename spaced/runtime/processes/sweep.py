"""Killing processes that are not our children: by identity, and until none is left.

Whoever is killed may just have started another one, so a sweep looks again until it finds nothing.
"""

import asyncio
import logging
import os
import select
import signal
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from typing import Final, TypeAlias

from spaced.clock import Clock
from spaced.runtime.processes.process_table import Process, ProcessTable

log = logging.getLogger(__name__)

Choice: TypeAlias = Callable[[Sequence[Process]], Collection[Process]]
"""Picks those of all processes that have to go."""

_ROUNDS: Final = 25
_PATIENCE_MS: Final = 200  # for the ends of those that were killed in one round
_PAUSE_MS: Final = 20  # where ends cannot be waited for

# One look can miss a process: while a program is being loaded its environment is empty.
_LOOKS_IN_VAIN: Final = 2


async def sweep(choose: Choice, *, table: ProcessTable, clock: Clock) -> int:
    """Kill what is chosen until nothing is, and return how many are gone.

    What refuses to die is logged and left after some seconds.
    """
    killed: set[tuple[int, str]] = set()
    looks_in_vain = 0
    victims: list[Process] = []
    for _ in range(_ROUNDS):
        processes = await asyncio.to_thread(table.processes)
        chosen = {process.identity: process for process in choose(processes)}
        victims = [process for process in chosen.values() if not process.is_zombie]
        looks_in_vain = 0 if victims else looks_in_vain + 1
        if looks_in_vain == _LOOKS_IN_VAIN:
            return len(killed)
        killed.update(process.identity for process in victims)
        if victims and not await asyncio.to_thread(kill, victims, table):
            await clock.sleep(_PAUSE_MS)
    left = {process.identity for process in victims}
    log.warning(
        "%d processes could not be killed",
        len(left),
        extra={"event": "processes-left", "pids": sorted(pid for pid, _ in left)},
    )
    return len(killed - left)


def kill(victims: Collection[Process], table: ProcessTable) -> bool:
    """Kill each one that is still the same process; true: all of them are known to be gone."""
    is_certain = True
    ends = select.poll()
    count = 0
    with ExitStack() as opened:
        for victim in victims:
            try:
                pidfd = _kill(victim, table, opened)
            except ProcessLookupError:
                continue
            except PermissionError:
                pidfd = None
            if pidfd is None:
                is_certain = False
            else:
                ends.register(pidfd, select.POLLIN)
                count += 1
        return _wait_for(ends, count) and is_certain


def _kill(victim: Process, table: ProcessTable, opened: ExitStack) -> int | None:
    """Kill it, and return a descriptor to wait on; `None`: nobody can tell when it is gone."""
    # The descriptor goes first: from then on the number cannot come to mean another process.
    pidfd = table.open_pidfd(victim.pid)
    if pidfd is not None:
        opened.callback(os.close, pidfd)
    if table.started(victim.pid) != victim.started:
        raise ProcessLookupError
    if pidfd is None:
        os.kill(victim.pid, signal.SIGKILL)
    else:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    return pidfd


def _wait_for(ends: select.poll, count: int) -> bool:
    """Wait for the ends of processes; false: not all have come in time."""
    while count:
        ended = ends.poll(_PATIENCE_MS)
        if not ended:
            return False
        for pidfd, _ in ended:
            ends.unregister(pidfd)
        count -= len(ended)
    return True
