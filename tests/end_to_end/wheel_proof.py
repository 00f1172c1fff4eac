"""Proves that the installed spaced works, with nothing of the repository in sight.

`wheel_smoke` runs this in an environment that holds the wheel and its dependencies only, from
another folder. Each proof prints a line; the first that fails ends it with a sentence.
"""

import asyncio
import sys
import tempfile
from importlib.metadata import distribution, packages_distributions
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import spaced
from spaced.clock import SystemClock, Timestamp
from spaced.domain.chat import ChatRequest
from spaced.domain.profile import Profile
from spaced.engine.engine import Engine
from spaced.engine.prompts import Address, PromptRequest
from spaced.engine.transcripts import newest_items
from spaced.errors import SpacedError
from spaced.log.read_models.catalogue import TABLES
from spaced.log.record import NewEvent, StreamWrite
from spaced.plugin_host.host import PluginHost, load_plugins
from spaced.resources import folder
from spaced.storage.protocol import StorageFactory, StoragePlace


def main() -> None:
    """Run every proof in order."""
    prove_package()
    prove_resources()
    prove_contents()
    host = prove_plugins()
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(prove_storage(host.storage("sqlite"), Path(place) / "storage"))
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(prove_chat(host, Path(place)))


def prove_package() -> None:
    """The package comes from this environment, is typed and knows its version."""
    home = Path(spaced.__file__).resolve()
    inside = Path(sys.prefix).resolve()
    _demand(home.is_relative_to(inside), f"spaced was imported from {home}, not from {inside}")
    version = distribution("spaced").version
    _demand(spaced.__version__ == version, f"spaced says {spaced.__version__}, pip says {version}")
    _demand(files("spaced").joinpath("py.typed").is_file(), "spaced/py.typed was not installed")
    print(f"spaced {version} was imported from the environment and is typed")


def prove_resources() -> None:
    """The folders that ship beside the code are found and hold something."""
    for name in ("schemas", "workflows"):
        shipped = folder(name)
        _demand(shipped.is_dir(), f"the folder {name!r} was not installed")
        held = count(shipped)
        _demand(held > 0, f"the folder {name!r} is empty")
        print(f"the folder {name} was found, with {held} files")


def prove_contents() -> None:
    """The distribution brought its own packages and nothing that belongs to others."""
    owners = packages_distributions()
    for name in ("tests", "packaging", "plugins", "docs"):
        _demand("spaced" not in owners.get(name, []), f"spaced installed a package {name!r}")
    tops = {path.parts[0] for path in distribution("spaced").files or ()}
    strange = sorted(
        top for top in tops - {"spaced", ".."} if not top.startswith(("spaced_", "spaced-"))
    )
    _demand(not strange, f"spaced installed {strange} beside its own packages")
    print(f"only {', '.join(sorted(tops))} were installed")


def prove_plugins() -> PluginHost:
    """The plugins that come along arrive through their entry points, and none is broken."""
    host = load_plugins(strict=True)
    names = [plugin.name for plugin in host.inventory.plugins]
    for name in ("scripted", "sqlite"):
        _demand(name in names, f"the plugin {name!r} was not found, only {names}")
    print(f"plugins were loaded: {', '.join(names)}")
    return host


async def prove_chat(host: PluginHost, place: Path) -> None:
    """A chat is created, prompted and answered by the agent that needs no model."""
    tables = tuple(TABLES.values())
    where = StoragePlace(folder=place / "storage", tables=tables, clock=SystemClock())
    storage = await host.storage("sqlite").open(where)
    runtimes = {"scripted": host.runtime("scripted")}
    engine = Engine(storage, runtimes, clock=SystemClock(), state_folder=place / "state")
    await engine.start()
    profile = Profile(name="Smoke", agent_name="scripted", runtime="scripted")
    profile_id = (await engine.profiles.create(profile)).id
    chat = ChatRequest(profile_id=profile_id, directory=str(place))
    session_id = (await engine.sessions.create(chat)).id
    hello = PromptRequest(parts=[{"type": "text", "text": "Is there smoke?"}])
    await engine.prompts.send(Address(kind="session", id=session_id), hello)
    await engine.coordinator.idle(session_id)
    items = (await newest_items(storage, session_id, limit=9)).items
    await engine.stop()
    await storage.close()
    _demand("Is there smoke?" in str(items[-1:]), f"the chat was not answered: {items}")
    print("a chat was created, prompted and answered")


async def prove_storage(factory: StorageFactory, place: Path) -> None:
    """A storage opens in an empty place, takes an event and gives it back after a reopening."""
    event = NewEvent(kind="smoke-tested", body=b'{"ok":true}', created_at=Timestamp(0))
    where = StoragePlace(folder=place, tables=(), clock=SystemClock())
    storage = await factory.open(where)
    await storage.append([StreamWrite(stream="run", expected_version=0, events=[event])])
    await storage.close()
    storage = await factory.open(where)
    read = await storage.read_stream("run")
    await storage.close()
    _demand([found.body for found in read] == [event.body], f"one event was stored, {read} came")
    print("a storage was opened, took an event, and gave it back after it was reopened")


def count(shipped: Traversable) -> int:
    """Count the files in a folder and below."""
    return sum(count(entry) if entry.is_dir() else 1 for entry in shipped.iterdir())


def _demand(condition: bool, otherwise: str) -> None:
    if not condition:
        sys.exit(otherwise)


if __name__ == "__main__":
    try:
        main()
    except SpacedError as error:
        sys.exit(error.message)
