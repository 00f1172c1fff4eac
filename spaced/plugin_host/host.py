"""The plugin host: from what is installed to what can be used, with a reason for all the rest.

Plugins are loaded one by one in an order that is the same on every machine. A broken one is listed
and the daemon starts without it; asking for something that it was to provide says so.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from spaced.errors import PluginProblem
from spaced.plugin_api import RuntimeFactory, StorageFactory
from spaced.plugin_host.finding import FindPlugins, FoundPlugin, installed_plugins
from spaced.plugin_host.inventory import (
    Inventory,
    PluginFacts,
    blocked_facts,
    broken_facts,
    loaded_facts,
)
from spaced.plugin_host.loading import DEFAULT_TIME_LIMIT, Breakage, Outcome, load_plugin
from spaced.plugin_host.registry import Registry, check_choices, listing, setting_of

log = logging.getLogger(__name__)

FactoryT = TypeVar("FactoryT")


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginHost:
    """What the plugins offer.

    Attributes:
        storages: usable factories by name.
        runtimes: usable factories by name.
        inventory: every plugin with what became of it.
    """

    storages: Registry[StorageFactory]
    runtimes: Registry[RuntimeFactory]
    inventory: Inventory

    def storage(self, name: str) -> StorageFactory:
        """Return the factory of a storage.

        Raises:
            PluginProblem: it is unknown, contested, or belongs to a broken or blocked plugin.
        """
        return self._look_up(self.storages, name)

    def runtime(self, name: str) -> RuntimeFactory:
        """Return the factory of a runtime.

        Raises:
            PluginProblem: it is unknown, contested, or belongs to a broken or blocked plugin.
        """
        return self._look_up(self.runtimes, name)

    def _look_up(self, registry: Registry[FactoryT], name: str) -> FactoryT:
        factory = registry.get(name)
        if factory is not None:
            return factory
        kind = registry.kind
        if name in registry.conflicts:
            remedy = f"Set {setting_of(kind, name)} to a plugin that offers it."
            sentence = f"{registry.conflicts[name]}{self._broken_ones()}"
            raise PluginProblem(sentence, remedy=remedy)
        for plugin in self.inventory.plugins:
            if plugin.state != "loaded" and _may_own(plugin, f"{kind} {name}", name):
                raise PluginProblem(
                    f"{kind} {name!r} belongs to plugin {plugin.name!r} of {plugin.distribution!r},"
                    f" which is {plugin.state}: {plugin.reason}"
                )
        known = f"known ones are {listing(sorted(registry))}" if registry else "none is known"
        raise PluginProblem(f"there is no {kind} {name!r}; {known}{self._broken_ones()}")

    def _broken_ones(self) -> str:
        broken = sorted({plugin.name for plugin in self.inventory.broken})
        return f"; broken plugins: {listing(broken)}" if broken else ""


def load_plugins(
    *,
    finder: FindPlugins = installed_plugins,
    allow: Collection[str] | None = None,
    block: Collection[str] = (),
    strict: bool = False,
    time_limit: float = DEFAULT_TIME_LIMIT,
    choices: Mapping[str, str] | None = None,
) -> PluginHost:
    """Load every installed plugin; this blocks, so call it before the event loop has work.

    Args:
        finder: returns the plugins that are installed.
        allow: names of the only plugins to load; `None` allows all. A name may be followed by
            `@` and a distribution.
        block: names of plugins to keep out, in the same form; it wins over `allow`.
        strict: refuse to go on with a broken plugin or a contested name.
        time_limit: seconds that each plugin may take.
        choices: which plugin provides a contested name, by setting: `runtimes.<name>.plugin`.

    Raises:
        PluginProblem: a choice is misspelt, or `strict` found something.
    """
    choices = choices or {}
    check_choices(choices)
    found = sorted(finder(), key=lambda p: (p.name, p.value, p.distribution))
    facts: list[PluginFacts] = []
    outcomes: list[Outcome] = []
    for _, entries in groupby(found, key=lambda p: p.name):
        for plugin, outcome in _load_namesakes(list(entries), allow, block, time_limit):
            facts.append(plugin)
            outcomes += [outcome] if outcome is not None and outcome.breakage is None else []
    host = _assemble(facts, outcomes, choices, _unmatched(allow, found))
    _report(host.inventory, strict=strict)
    return host


def _load_namesakes(
    entries: Sequence[FoundPlugin],
    allow: Collection[str] | None,
    block: Collection[str],
    time_limit: float,
) -> Sequence[tuple[PluginFacts, Outcome | None]]:
    """Load the plugin of one name, unless several claim it: then each is told of the others."""
    wanted = [entry for entry in entries if not _blocked_because(entry, allow, block)]
    result: list[tuple[PluginFacts, Outcome | None]] = []
    for entry in entries:
        if reason := _blocked_because(entry, allow, block):
            result.append((blocked_facts(entry, reason), None))
        elif len(wanted) > 1:
            result.append((broken_facts(entry, Breakage(reason=_namesakes(wanted))), None))
        else:
            outcome = load_plugin(entry, time_limit=time_limit)
            result.append((loaded_facts(entry, outcome), outcome))
    return result


def _assemble(
    facts: Sequence[PluginFacts],
    outcomes: Sequence[Outcome],
    choices: Mapping[str, str],
    problems: Sequence[str],
) -> PluginHost:
    storages = [offer for o in outcomes for offer in o.registrar.storages.values()]
    runtimes = [offer for o in outcomes for offer in o.registrar.runtimes.values()]
    storage_registry = Registry("storage", storages, choices)
    runtime_registry = Registry("runtime", runtimes, choices)
    conflicts = [*storage_registry.conflicts.values(), *runtime_registry.conflicts.values()]
    return PluginHost(
        storages=storage_registry,
        runtimes=runtime_registry,
        inventory=Inventory(plugins=tuple(facts), problems=(*conflicts, *problems)),
    )


def _report(inventory: Inventory, *, strict: bool) -> None:
    sentences = [
        f"plugin {plugin.name!r} of {plugin.distribution!r} is broken: {plugin.reason}"
        for plugin in inventory.broken
    ]
    sentences += inventory.problems
    if strict and sentences:
        raise PluginProblem("; ".join(sentences))
    for sentence in sentences:
        log.warning("%s", sentence, extra={"event": "plugin-problem"})


def _labels(found: FoundPlugin) -> set[str]:
    return {found.name, f"{found.name}@{found.distribution}"}


def _blocked_because(
    found: FoundPlugin, allow: Collection[str] | None, block: Collection[str]
) -> str:
    if not _labels(found).isdisjoint(block):
        return "the settings block it"
    if allow is not None and _labels(found).isdisjoint(allow):
        return "the settings allow only other plugins"
    return ""


def _unmatched(allow: Collection[str] | None, found: Sequence[FoundPlugin]) -> Sequence[str]:
    known = {label for plugin in found for label in _labels(plugin)}
    missing = sorted(set(allow or ()) - known)
    return [f"the settings allow plugin {name!r}, which is not installed" for name in missing]


def _namesakes(entries: Sequence[FoundPlugin]) -> str:
    name = entries[0].name
    labels = [f"{entry.distribution} ({entry.value})" for entry in entries]
    return (
        f"several entry points are called {name!r}: {listing(labels)};"
        f" uninstall all but one, or block one as {name}@{entries[0].distribution}"
    )


def _may_own(plugin: PluginFacts, offer: str, name: str) -> bool:
    return offer in plugin.withdrawn or plugin.name == name
