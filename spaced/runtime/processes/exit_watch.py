"""Notices that a child has ended, without taking its number away from it.

An ended child stays a zombie until it is reaped, and so long nobody else gets its number: its
process group can be signalled safely. `asyncio` reaps at once, and its `wait` hangs while a
grandchild holds a pipe; so this is done by hand.
"""

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress

from spaced.runtime.child import Exit
from spaced.runtime.processes.process_table import ProcessTable


class ExitWatch:
    """Tells once, in the event loop, how a child has ended."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        table: ProcessTable,
        announce: Callable[[Exit], None],
    ) -> None:
        self._process = process
        self._announce = announce
        self._loop = asyncio.get_running_loop()
        self._pidfd = _pidfd_of(process.pid, table)
        if self._pidfd is None:
            name = f"wait-for-{process.pid}"
            threading.Thread(target=self._wait_in_thread, name=name, daemon=True).start()
        else:
            self._loop.add_reader(self._pidfd, self._look)

    def reap(self) -> None:
        """Give its number back; it has ended."""
        self._process.wait()

    def _wait_in_thread(self) -> None:
        # macOS has waitid from Python 3.13 on. Before that the thread can only reap the child, and
        # its group's number is safe no longer than the group has other members.
        if hasattr(os, "waitid"):
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._process.wait()
        with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            self._loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        exit_ = _exit_of(self._process)
        if exit_ is None:
            return
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        self._announce(exit_)


def _pidfd_of(pid: int, table: ProcessTable) -> int | None:
    try:
        return table.open_pidfd(pid)
    except ProcessLookupError:  # children are not to be waited for in this process
        return None


def _exit_of(process: subprocess.Popen[bytes]) -> Exit | None:
    if not hasattr(os, "waitid"):
        return _exit_of_code(process.wait())
    try:
        found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    except ChildProcessError:  # the system has reaped it, so nobody knows how it ended
        return Exit()
    if found is None:
        return None
    if found.si_code == os.CLD_EXITED:
        return Exit(code=found.si_status)
    return Exit(signal=found.si_status)


def _exit_of_code(code: int) -> Exit:
    return Exit(code=code) if code >= 0 else Exit(signal=-code)
