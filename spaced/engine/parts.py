"""What every part of the engine is built on."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from spaced.clock import Clock
from spaced.engine.announcements import Announcements
from spaced.engine.journal import Journal
from spaced.engine.run_queues import RunQueues
from spaced.engine.workflows.locks import EntryLocks
from spaced.identifiers import IdGenerator
from spaced.runtime.tasks import Tasks
from spaced.storage.protocol import Storage

Reach: TypeAlias = Callable[[str], None]
"""Called at each named crash point; a test's may end the process there."""

MINUTE_MS: Final = 60_000
DAY_MS: Final = 24 * 60 * MINUTE_MS


def never_crash(point: str) -> None:
    """Pass every crash point."""
    del point


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What a user can set.

    Attributes:
        concurrent_turns: how many turns run at once; the others wait visibly.
        cancel_grace_ms: how long an interrupt waits for the agent where its profile says nothing.
        stop_grace_ms: how long a stop of the daemon waits for turns, and a kill for a connection.
        idle_ms: after how long without a turn a connection is closed.
        reattach_ms: how long a start waits for turns that outlived the daemon.
        retention_ms: how long a deleted run is kept before it is gone for good.
        environment: the daemon's own variables; profiles choose from them by name.
        mcp_servers: servers that every agent is offered.
    """

    concurrent_turns: int = 16
    cancel_grace_ms: int = 10_000
    stop_grace_ms: int = 10_000
    idle_ms: int = 10 * MINUTE_MS
    reattach_ms: int = 10_000
    retention_ms: int = 7 * DAY_MS
    environment: Mapping[str, str] = field(default_factory=dict)
    mcp_servers: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineParts:
    """Shared by the parts of one engine; each of them is there once.

    Attributes:
        entry_locks: keep a workflow's steps in place while a run enters one.
        counters: of what is worth knowing and no fact, such as reports that came too late.
    """

    storage: Storage
    journal: Journal
    queues: RunQueues
    clock: Clock
    ids: IdGenerator
    tasks: Tasks
    announcements: Announcements
    settings: EngineSettings
    reach: Reach
    entry_locks: EntryLocks
    counters: Counter[str] = field(default_factory=Counter)
