"""What the routes are given: the engine, and what else they tell of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from spaced.agents.finding import Agents
from spaced.api.streams.hub import EventHub
from spaced.clock import Clock
from spaced.engine.engine import Engine
from spaced.engine.workflows.builtin import BuiltinWorkflows
from spaced.plugin_host.inventory import Inventory
from spaced.redaction import Redactor
from spaced.storage.protocol import Storage
from spaced.sync.service import SyncService
from spaced.wire.reports import ListenerFacts, Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonFacts:
    """What is true for the whole life of a daemon.

    Attributes:
        token: opens every route over TCP.
        storage: the name of the storage plugin.
        limits: what is served at most, by name.
        warnings: sentences that a person should act on.
    """

    version: str
    pid: int
    started_at: str
    token: str
    storage: str
    limits: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What handlers work with.

    Attributes:
        streams: who listens to events.
        listeners: tells where the daemon is reached.
        redactor: what exports pass on their way out.
        agents: looks for agents that are installed here.
        shipped: the workflows that come with spaced.
        sync: reads folders of workflows.
    """

    engine: Engine
    storage: Storage
    clock: Clock
    streams: EventHub
    facts: DaemonFacts
    plugins: Inventory
    settings: Sequence[Setting]
    redactor: Redactor
    listeners: Callable[[], ListenerFacts]
    agents: Agents
    shipped: BuiltinWorkflows
    sync: SyncService

    def new_step_id(self) -> str:
        """Return a fresh id for a step."""
        return self.engine.ids.new("step")
