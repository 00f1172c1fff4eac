"""What the system tells about its processes: the one module that depends on the platform.

Linux tells everything in `/proc`, environments included. Where there is no such folder, as on
macOS, `ps` tells the rest: there are no marks then, and groups stand in for sessions.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spaced.runtime.processes.marker import marks_in

_STATE: Final = 0  # places after the name in `stat`; proc(5) counts them from 3
_PARENT: Final = 1
_GROUP: Final = 2
_SESSION: Final = 3
_THREADS: Final = 17
_STARTED: Final = 19

_MOST_LISTINGS: Final = 100

_PS: Final = ("ps", "-A", *(f"-o{name}=" for name in ("pid", "ppid", "pgid", "stat", "lstart")))
_PS_ENVIRONMENT: Final = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/bin:/usr/bin"}
_PS_COLUMNS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process at one moment.

    Attributes:
        started: tells it from another one that gets the same pid later.
        is_zombie: it has ended, and only its parent has not noticed yet.
        marks: what its environment was marked with when it started.
    """

    pid: int
    parent: int
    group: int
    session: int
    started: str
    is_zombie: bool = False
    marks: frozenset[str] = frozenset()

    @property
    def identity(self) -> tuple[int, str]:
        """What no other process of this boot has."""
        return self.pid, self.started


class ProcessTable:
    """Looks at the machine's processes. Every call reads anew, and may block for some milliseconds.

    A process may vanish at any time, and one that we may not look at is left out.
    """

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._has_proc = (proc / "self" / "stat").exists()

    def boot_id(self) -> str:
        """Return what is different after each boot; empty where start times are full dates."""
        with suppress(OSError):
            return (self._proc / "sys/kernel/random/boot_id").read_text().strip()
        return ""

    def processes(self) -> list[Process]:
        """Return every process but our own."""
        found = self._in_proc() if self._has_proc else _told_by_ps()
        return [process for process in found if process.pid != os.getpid()]

    def started(self, pid: int) -> str | None:
        """Return when the process of this number started, also if it is a zombie."""
        if self._has_proc:
            process = self._read(pid, marks=False)
            return process.started if process else None
        return next((p.started for p in _told_by_ps() if p.pid == pid), None)

    def open_pidfd(self, pid: int) -> int | None:
        """Return a descriptor that stands for the process, where the system has such a thing.

        Raises:
            ProcessLookupError: there is no such process.
        """
        if not self._has_proc or not hasattr(os, "pidfd_open"):
            return None
        try:
            return os.pidfd_open(pid)
        except ProcessLookupError:
            raise
        except OSError:  # an old kernel, a sandbox, or no descriptor is left
            return None

    def _in_proc(self) -> Iterator[Process]:
        # Who forks and ends while others are being read shows up in neither of two single looks.
        # So look until nobody is new: then everybody who lives now was read while he lived.
        seen: set[str] = set()
        for _ in range(_MOST_LISTINGS):
            new = set(os.listdir(self._proc)) - seen  # noqa: PTH208 - hundreds of names, often
            if not new:
                return
            seen |= new
            found = (self._read(int(name)) for name in new if name.isdigit())
            yield from (process for process in found if process)

    def _read(self, pid: int, *, marks: bool = True) -> Process | None:
        folder = self._proc / str(pid)
        try:
            stat = (folder / "stat").read_bytes()
        except OSError:
            return None
        environment = b""
        if marks:
            with suppress(OSError):
                environment = (folder / "environ").read_bytes()
        return parse_stat(stat, marks_in(environment))


def parse_stat(stat: bytes, marks: frozenset[str] = frozenset()) -> Process:
    """Read a `stat` file of `/proc`; a program's name may hold spaces and parentheses."""
    head, _, tail = stat.rpartition(b")")
    fields = tail.split()
    return Process(
        pid=int(head.partition(b" ")[0]),
        parent=int(fields[_PARENT]),
        group=int(fields[_GROUP]),
        session=int(fields[_SESSION]),
        started=fields[_STARTED].decode(),
        # With more threads than one, it is only the first of them that has ended.
        is_zombie=fields[_STATE] in (b"Z", b"X") and int(fields[_THREADS]) <= 1,
        marks=marks,
    )


def parse_ps(listing: str) -> Iterator[Process]:
    """Read what `ps` lists: pid, parent, group, state, and a start time of several words."""
    for line in listing.splitlines():
        columns = line.split(maxsplit=_PS_COLUMNS - 1)
        if len(columns) == _PS_COLUMNS:
            pid, parent, group = (int(column) for column in columns[:3])
            yield Process(
                pid=pid,
                parent=parent,
                group=group,
                session=group,
                started=columns[-1].strip(),
                is_zombie=columns[3].startswith("Z"),
            )


def _told_by_ps() -> Iterator[Process]:
    try:
        told = subprocess.run(  # noqa: S603 - a fixed command
            _PS, env=_PS_ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except OSError:
        return iter(())
    return parse_ps(told.stdout.decode(errors="replace"))
