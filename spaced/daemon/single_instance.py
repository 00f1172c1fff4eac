"""One daemon for each data directory, by a lock that the system holds.

The system lets go of the lock when its process ends, however it ends; the pid in the file only
tells people whom to look for. So a file that a dead daemon left behind is no obstacle, also if its
pid has become somebody else's. The file is never removed: a second daemon could have it open
already, and would then lock a file that nobody else finds.
"""

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from spaced.daemon.private_files import open_private, os_refusal
from spaced.refusals import AlreadyRunning

LOCK_NAME: Final = "lock"

_LONGEST: Final = 4096


class Lock:
    """The right to serve a data directory; good until it is closed, or the process is gone."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, data_dir: Path, *, started_at: str) -> Self:
        """Take the lock of a data directory, at once or not at all.

        Args:
            data_dir: an existing private folder.
            started_at: when this daemon was started, for whoever is refused.

        Raises:
            AlreadyRunning: another daemon has it; the message names its pid.
            UnsafePlace: the file is not ours alone, or the file system knows no locks.
        """
        path = data_dir / LOCK_NAME
        descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
        try:
            _lock(path, descriptor)
            _sign(descriptor, {"pid": os.getpid(), "started_at": started_at})
        except OSError as error:
            os.close(descriptor)
            raise os_refusal(path, "locked", error) from error
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def close(self) -> None:
        """Let go of the lock; doing it again changes nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _lock(path: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise AlreadyRunning(
            f"{_holder(descriptor)} already serves the data directory {path.parent}"
        ) from error


def _sign(descriptor: int, facts: dict[str, object]) -> None:
    # Written before it is cut: whoever reads the first line meanwhile finds it whole.
    line = json.dumps(facts).encode() + b"\n"
    os.pwrite(descriptor, line, 0)
    os.ftruncate(descriptor, len(line))


def _holder(descriptor: int) -> str:
    line, _, _ = os.pread(descriptor, _LONGEST, 0).partition(b"\n")
    try:
        facts = json.loads(line)
        return f"a daemon with pid {int(facts['pid'])}, started at {facts['started_at']},"
    except (ValueError, TypeError, KeyError, RecursionError):
        return "a daemon that has not told its pid yet"
