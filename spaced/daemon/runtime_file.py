"""Where a running daemon is reached: one small JSON file, `daemon.json` in its data directory.

    {"pid": 4711, "version": "0.1.0", "socket": "/run/user/1000/spaced/control.sock",
     "host": "127.0.0.1", "port": 40123, "started_at": "2026-12-01T09:30:00.000Z"}

`host` and `port` are null if the daemon does not listen on TCP, `socket` if it has no socket of
its own. The file has the mode 0600. It may outlive a daemon that was killed, so whoever reads it
still has to ask whether somebody answers there.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from spaced.daemon.private_files import read_private, write_private
from spaced.refusals import UnsafePlace

RUNTIME_FILE_NAME: Final = "daemon.json"

_LONGEST: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningDaemon:
    """A daemon as its runtime file tells of it.

    Attributes:
        socket: the path of its Unix socket.
        host: the address of its TCP port; an IPv6 one without brackets.
        started_at: an RFC 3339 time.
    """

    pid: int
    version: str
    socket: str | None
    host: str | None
    port: int | None
    started_at: str


def write_runtime_file(data_dir: Path, daemon: RunningDaemon) -> None:
    """Tell where a daemon is reached; an older file is replaced at one stroke.

    Raises:
        StorageFull: there is no space.
        UnsafePlace: the folder takes no file of ours.
    """
    content = json.dumps(asdict(daemon)).encode() + b"\n"
    write_private(data_dir / RUNTIME_FILE_NAME, content)


def read_runtime_file(data_dir: Path) -> RunningDaemon | None:
    """Return what the file tells, or `None` if there is none that could be ours."""
    try:
        content = read_private(data_dir / RUNTIME_FILE_NAME, largest=_LONGEST)
        return _daemon_of(json.loads(content))
    except (FileNotFoundError, UnsafePlace, ValueError, RecursionError):
        return None


def remove_runtime_file(data_dir: Path, *, pid: int) -> bool:
    """Remove the file if it tells of this process, and tell whether it did."""
    daemon = read_runtime_file(data_dir)
    if daemon is None or daemon.pid != pid:
        return False
    (data_dir / RUNTIME_FILE_NAME).unlink(missing_ok=True)
    return True


def _daemon_of(facts: object) -> RunningDaemon | None:
    match facts:
        case {
            "pid": int(pid),
            "version": str(version),
            "socket": str() | None as socket,
            "host": str() | None as host,
            "port": int() | None as port,
            "started_at": str(started_at),
        } if not (isinstance(pid, bool) or isinstance(port, bool)):
            return RunningDaemon(
                pid=pid,
                version=version,
                socket=socket,
                host=host,
                port=port,
                started_at=started_at,
            )
        case _:
            return None
