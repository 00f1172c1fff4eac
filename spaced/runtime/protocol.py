"""The runtime protocol: what the core asks of something that can talk to agents."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from spaced.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeServices:
    """What the daemon lends to a runtime.

    Attributes:
        clock: the only source of time.
        state_folder: a folder of the runtime's own that outlives the daemon.
    """

    clock: Clock
    state_folder: Path


class AgentRuntime(Protocol):
    """Talks to agents of one kind."""

    async def close(self) -> None:
        """Let go of every connection and process; closing twice is fine."""
        ...


class RuntimeFactory(Protocol):
    """What a plugin registers for a runtime."""

    def __call__(self, config: Mapping[str, object], services: RuntimeServices) -> AgentRuntime:
        """Return a runtime for the user's settings; it must be quick and start nothing."""
        ...
