"""The native API over a house: a real server on a Unix socket, in the test's own process."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from spaced.agents.finding import Agents, Machine
from spaced.api.application import application
from spaced.api.services import DaemonFacts, Services
from spaced.api.streams.hub import EventHub, StreamSettings
from spaced.client.client import Client
from spaced.client.place import Place
from spaced.clock import to_rfc3339
from spaced.plugin_host.host import load_plugins
from spaced.portable.shipped import ShippedWorkflows
from spaced.redaction import Redactor
from spaced.sync.service import SyncService
from spaced.wire.reports import ListenerFacts
from tests.integration.engine.house import House

TOKEN: Final = "a-token-that-only-this-test-knows"


@dataclass(kw_only=True)
class ApiHouse:
    """A house and its API.

    Attributes:
        place: where a client reaches it.
    """

    house: House
    hub: EventHub
    services: Services
    place: Place

    def client(self, **options: Any) -> Client:
        """Return a client that waits for nobody."""
        return Client(self.place, **{"patience": 0.0, **options})


@asynccontextmanager
async def api_over(
    house: House,
    *,
    middlewares: Sequence[Any] = (),
    storage: Any = None,
    **streams: Any,
) -> AsyncIterator[ApiHouse]:
    """Serve a house on a Unix socket.

    Args:
        middlewares: what every request passes first.
        storage: what event streams read instead of the house's own storage.
        streams: settings of the event streams.
    """
    hub = EventHub(
        storage or house.storage,
        house.engine.announcements,
        house.clock,
        settings=StreamSettings(**streams),
    )
    await hub.open()
    # Directly below /tmp: a test's own folder has too long a name for a socket.
    with tempfile.TemporaryDirectory(prefix="spaced-", dir="/tmp") as name:
        socket = str(Path(name) / "api.sock")
        services = _services(house, hub, socket)
        runner = web.AppRunner(
            application(services, middlewares=middlewares), access_log=None, shutdown_timeout=1
        )
        await runner.setup()
        await web.UnixSite(runner, socket).start()
        try:
            yield ApiHouse(house=house, hub=hub, services=services, place=Place(socket=socket))
        finally:
            await hub.close()
            await runner.cleanup()


def _services(house: House, hub: EventHub, socket: str) -> Services:
    return Services(
        engine=house.engine,
        storage=house.storage,
        clock=house.clock,
        streams=hub,
        facts=DaemonFacts(
            version="0.0.test",
            pid=os.getpid(),
            started_at=to_rfc3339(house.clock.now()),
            token=TOKEN,
            storage="sqlite",
            limits={"streams": hub.settings.most},
        ),
        plugins=load_plugins().inventory,
        settings=(),
        redactor=Redactor([TOKEN]),
        agents=agents_in(house.folder),
        shipped=ShippedWorkflows(),
        sync=SyncService(house.engine, house.storage, house.clock),
        listeners=lambda: ListenerFacts(socket=socket, tcp=()),
    )


async def in_thread(work: Any, *arguments: Any) -> Any:
    """Do something that blocks, such as a command, beside the server."""
    return await asyncio.to_thread(work, *arguments)


def agents_in(folder: Path) -> Agents:
    """Return what looks for agents in a folder alone: `bin`, `home`, and entries in `agents`."""
    machine = Machine(
        environment={"PATH": str(folder / "bin")},
        home=folder / "home",
        installed=folder / "installed",
    )
    return Agents(machine, folder / "agents")
