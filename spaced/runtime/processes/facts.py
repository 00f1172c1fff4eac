"""What is written down about a process, so that a later life of the daemon can find it again.

A record says which process was started for whom, and never with which arguments: those may hold
secrets. It is made before the process is handed to anybody, and taken back once the process and
all that it started are gone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessFacts:
    """A process that was started, and what proves that it is still the same.

    Attributes:
        started: when it started, as the system says it; opaque, and compared as a whole.
        boot_id: the boot of the machine that `pid` and `started` belong to.
        marker: what it and everything that it starts carry in their environment.
        command: the program alone.
    """

    pid: int
    started: str
    boot_id: str
    execution_id: str
    marker: str
    command: str


class ProcessRecords(Protocol):
    """Where the facts are kept; they outlive the daemon."""

    async def started(self, facts: ProcessFacts) -> None:
        """Keep them; they are safe when this returns."""
        ...

    async def gone(self, facts: ProcessFacts) -> None:
        """Drop them; facts that are not there are fine."""
        ...

    async def left_over(self) -> Sequence[ProcessFacts]:
        """Return all that are kept."""
        ...
