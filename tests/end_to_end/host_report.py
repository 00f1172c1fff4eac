"""Brings a plugin host up and prints what it found; runs inside the environment under test."""

import asyncio
import json
import logging
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from spaced.clock import Clock, SystemClock
from spaced.errors import PluginProblem, SpawnRefused, UnknownBlob
from spaced.plugin_host.host import PluginHost, load_plugins
from spaced.runtime.child import Child, ChildRequest
from spaced.runtime.protocol import RuntimeServices
from spaced.storage.protocol import StoragePlace


def main() -> None:
    """Read the choices as JSON from the second argument and print a report as JSON."""
    host = load_plugins(time_limit=float(sys.argv[1]), choices=json.loads(sys.argv[2]))
    with tempfile.TemporaryDirectory() as folder:
        used = asyncio.run(_use(host, Path(folder)))
    report = {
        "inventory": asdict(host.inventory),
        "runtimes": sorted(host.runtimes),
        "storages": sorted(host.storages),
        "refusals": {name: _refusal(host, name) for name in ("half", "contested", "nowhere")},
        "used": used,
    }
    print(json.dumps(report))


async def _use(host: PluginHost, folder: Path) -> list[str]:
    """Open what the good plugins offer; name what worked."""
    clock = SystemClock()
    place = StoragePlace(folder=folder / "storage", tables=(), clock=clock)
    storage = await host.storage("sqlite").open(place)
    assert await storage.head() == 0
    await storage.close()
    for name in ("acme", "scripted"):
        await host.runtime(name)({}, _services(clock, folder / name)).close()
    return ["storage sqlite", "runtime acme", "runtime scripted"]


def _services(clock: Clock, folder: Path) -> RuntimeServices:
    return RuntimeServices(
        clock=clock,
        log=logging.getLogger("host-report"),
        state_folder=folder,
        spawn=_spawn_nothing,
        redact=str,
        read_blob=_read_nothing,
    )


async def _spawn_nothing(request: ChildRequest) -> Child:
    raise SpawnRefused(f"nothing is started here, and not {request.command[0]!r} either")


async def _read_nothing(blob_id: str) -> bytes:
    raise UnknownBlob(blob_id)


def _refusal(host: PluginHost, runtime: str) -> str:
    try:
        host.runtime(runtime)
    except PluginProblem as error:
        return error.message
    return ""


if __name__ == "__main__":
    main()
