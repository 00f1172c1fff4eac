"""Plugins that need no installation: modules made in memory, and the entry points that find them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

from spaced.plugin_api import (
    AgentConnection,
    AgentRuntime,
    Capabilities,
    JsonObject,
    ProbeReport,
    Profile,
    RegisterRuntime,
    RegisterStorage,
    RuntimeServices,
    SessionSpec,
    Sink,
    Storage,
    StoragePlace,
    hookimpl,
)
from spaced.plugin_host.finding import FoundPlugin


class FakeStorageFactory:
    """A storage factory that no test opens."""

    async def open(self, place: StoragePlace) -> Storage:
        raise AssertionError("no test of the host opens a storage")

    async def restore(self, backup: Path, place: StoragePlace) -> None:
        raise AssertionError("no test of the host opens a storage")


class FakeRuntime:
    """A runtime that talks to nobody."""

    capabilities = Capabilities()

    async def probe(self, profile: Profile, environment: Mapping[str, str]) -> ProbeReport:
        raise AssertionError("no test of the host asks for an agent")

    async def open(
        self, session: SessionSpec, continuity: JsonObject | None, sink: Sink
    ) -> AgentConnection:
        raise AssertionError("no test of the host opens an agent")

    async def reattach(
        self,
        session: SessionSpec,
        continuity: JsonObject,
        sink: Sink,
        turn_id: str | None = None,
    ) -> AgentConnection | None:
        raise AssertionError("no test of the host opens an agent")

    async def close(self) -> None:
        return


def fake_runtime(config: Mapping[str, object], services: RuntimeServices) -> AgentRuntime:
    """Return a runtime; this is the factory that tests register."""
    return FakeRuntime()


def module_with(**hooks: object) -> ModuleType:
    """Return a module that holds these names."""
    module = ModuleType("acme")
    for name, hook in hooks.items():
        setattr(module, name, hook)
    return module


def offering_runtimes(*names: str) -> ModuleType:
    """Return a plugin that offers runtimes."""

    @hookimpl
    def spaced_register_runtimes(register: RegisterRuntime) -> None:
        for name in names:
            register(name, fake_runtime, summary=f"{name} for tests")

    return module_with(spaced_register_runtimes=spaced_register_runtimes)


def offering_storages(*names: str) -> ModuleType:
    """Return a plugin that offers storages."""

    @hookimpl
    def spaced_register_storages(register: RegisterStorage) -> None:
        for name in names:
            register(name, FakeStorageFactory())

    return module_with(spaced_register_storages=spaced_register_storages)


def found(
    name: str,
    plugin: object | None = None,
    *,
    load: Callable[[], object] | None = None,
    distribution: str | None = None,
    value: str | None = None,
    wanted_spaced: str | None = None,
) -> FoundPlugin:
    """Return an entry point that loads a plugin, or does what `load` does."""
    return FoundPlugin(
        name=name,
        value=value or name.replace("-", "_"),
        distribution=distribution or f"spaced-{name}",
        version="1.0",
        load=load or (lambda: plugin),
        wanted_spaced=wanted_spaced,
    )
