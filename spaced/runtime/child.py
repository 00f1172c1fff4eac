"""Child processes as a runtime sees them: supervised, recorded, and never longer-lived than a stop.

A runtime never starts a process by itself. It asks `RuntimeServices.spawn`, and so inherits the
promise that nothing it started outlives a stop of the session or of the daemon.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

LINE_LIMIT: Final = 64 * 1024 * 1024
"""The longest line in bytes; one tool's output of many megabytes arrives as a single one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRequest:
    """What to start, for whom.

    Attributes:
        execution_id: the execution that it serves; when that ends, the child is gone.
        command: an absolute path and its arguments; no shell looks at them.
        directory: an existing folder to start in.
        environment: everything that the child sees, beside our marker.
        line_limit: bytes after which a line without an end fails `Child.lines`.
    """

    execution_id: str
    command: tuple[str, ...]
    directory: str
    environment: Mapping[str, str] = field(default_factory=dict)
    line_limit: int = LINE_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a process ended: with a code, or by a signal's number."""

    code: int | None = None
    signal: int | None = None


class Child(Protocol):
    """A running child process with pipes; its error output is always drained into a ring."""

    @property
    def pid(self) -> int:
        """Its process id, which is also its session's and its group's."""
        ...

    async def write(self, data: bytes) -> None:
        """Write to its input and wait until the pipe has room.

        Raises:
            ChildGone: it no longer reads.
        """
        ...

    def close_input(self) -> None:
        """Close its input; closing twice is fine."""
        ...

    def lines(self) -> AsyncIterator[bytes]:
        """Yield its output line by line without the line ends; what follows the last one too.

        Raises:
            LineTooLong: a line is longer than the request allows.
        """
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield its output as it comes; use this or `lines`, not both."""
        ...

    def error_output(self) -> str:
        """Return the last 64 KiB of its error output, decoded leniently."""
        ...

    async def wait(self) -> Exit:
        """Return how it ended; pipes that a grandchild still holds do not delay this."""
        ...

    async def stop(self, grace_ms: int) -> Exit:
        """End it and everything that it started, and return when all of that is gone.

        Its input is closed, then it gets SIGTERM, then SIGKILL, with `grace_ms` between in all;
        with 0 it is killed at once. Whatever carries its marker is killed in the end, also what has
        left its process group.
        """
        ...


class Spawn(Protocol):
    """Starts a supervised child."""

    async def __call__(self, request: ChildRequest) -> Child:
        """Start it; it is recorded before this returns.

        Raises:
            SpawnRefused: the command is not absolute, does not exist or cannot be run, or the
                folder does not exist.
        """
        ...
