"""Small programs that behave well or badly, and requests to run them.

Each one prints a line when it has come to where a test wants it.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from spaced.runtime.child import LINE_LIMIT, ChildRequest

EXECUTION = "exe_1"
STUBBORN = "trap '' TERM; echo ready; exec tail -f /dev/null"
"""Heeds neither the end of its input nor SIGTERM."""

RUNAWAY = """
import os, signal, sys
gate = os.open(sys.argv[1], os.O_RDWR)
if os.fork():
    os.close(gate)
    if sys.argv[3] == "leave":
        os._exit(7)
    while True:
        signal.pause()
os.setsid()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.alarm(300)
print(os.getpid(), flush=True)
os.read(gate, 1)
open(sys.argv[2], "w").close()
"""
"""Starts one that leaves the session, heeds no SIGTERM, and writes a file when its gate opens.

A run of the tests that is killed leaves it for some minutes only.
"""


def shell(
    script: str,
    *arguments: str,
    execution_id: str = EXECUTION,
    environment: Mapping[str, str] | None = None,
    directory: str = "/",
    line_limit: int = LINE_LIMIT,
) -> ChildRequest:
    """Ask for a shell script."""
    return ChildRequest(
        execution_id=execution_id,
        command=("/bin/sh", "-c", script, "sh", *arguments),
        directory=directory,
        environment={"PATH": "/usr/bin:/bin"} if environment is None else environment,
        line_limit=line_limit,
    )


def python(program: str, *arguments: str, execution_id: str = EXECUTION) -> ChildRequest:
    """Ask for a Python program."""
    return ChildRequest(
        execution_id=execution_id,
        command=(sys.executable, "-I", "-S", "-c", program, *arguments),
        directory="/",
    )


class Runaway:
    """A grandchild that nothing but its mark leads to, and the file that it must never write."""

    def __init__(self, folder: Path, name: str = "runaway") -> None:
        self._gate = folder / f"{name}.gate"
        self.file = folder / f"{name}.written"

    def request(self, execution_id: str = EXECUTION, *, leave: bool = False) -> ChildRequest:
        """Ask for its parent, which prints its pid; it may leave it alone then."""
        os.mkfifo(self._gate)
        arguments = (str(self._gate), str(self.file), "leave" if leave else "stay")
        return python(RUNAWAY, *arguments, execution_id=execution_id)

    def is_there(self) -> bool:
        """Whether anybody waits at the gate."""
        return is_held(self._gate)


def is_held(gate: Path) -> bool:
    """Tell whether any process has a FIFO open; no list of processes can be as sure."""
    assert gate.is_fifo()
    try:
        os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True
