"""Facts about plugins as frozen values, for `spaced plugins` and the API."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from spaced.plugin_host.finding import FoundPlugin
from spaced.plugin_host.loading import Breakage, Outcome

PluginState = Literal["loaded", "broken", "blocked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFacts:
    """One plugin that is installed.

    Attributes:
        origin: the file of its top-level module; a module that shadows another one shows here.
        hooks: the hooks it implements.
        storages: names that it offers; a name may still be contested.
        runtimes: likewise.
        withdrawn: what it had registered before it broke, as `storage <name>`; none of it is used.
        reason: one sentence on why it is broken or blocked, else empty.
        traceback: where it broke, or where it hung.
    """

    name: str
    distribution: str
    version: str
    entry_point: str
    origin: str | None
    state: PluginState
    hooks: Sequence[str] = ()
    storages: Sequence[str] = ()
    runtimes: Sequence[str] = ()
    withdrawn: Sequence[str] = ()
    reason: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Every plugin that is installed.

    Attributes:
        plugins: in loading order.
        problems: sentences on what no single plugin is to blame for: contested names, settings
            that match nothing.
    """

    plugins: Sequence[PluginFacts]
    problems: Sequence[str] = ()

    @property
    def broken(self) -> Sequence[PluginFacts]:
        """The plugins that do not work."""
        return [plugin for plugin in self.plugins if plugin.state == "broken"]


def loaded_facts(found: FoundPlugin, outcome: Outcome) -> PluginFacts:
    """Return what is known of a plugin after it was tried, whether it works or not."""
    storages, runtimes = sorted(outcome.registrar.storages), sorted(outcome.registrar.runtimes)
    if outcome.breakage is None:
        facts = replace(_facts(found, "loaded"), hooks=tuple(outcome.hooks))
        return replace(facts, storages=tuple(storages), runtimes=tuple(runtimes))
    offers = [f"storage {name}" for name in storages] + [f"runtime {name}" for name in runtimes]
    facts = broken_facts(found, outcome.breakage)
    return replace(facts, hooks=tuple(outcome.hooks), withdrawn=tuple(offers))


def broken_facts(found: FoundPlugin, breakage: Breakage) -> PluginFacts:
    """Return what is known of a plugin that does not work."""
    facts = _facts(found, "broken")
    return replace(facts, reason=breakage.reason, traceback=breakage.traceback)


def blocked_facts(found: FoundPlugin, reason: str) -> PluginFacts:
    """Return what is known of a plugin that the settings keep out; nothing of it was imported."""
    return replace(_facts(found, "blocked"), reason=reason)


def _facts(found: FoundPlugin, state: PluginState) -> PluginFacts:
    return PluginFacts(
        name=found.name,
        distribution=found.distribution,
        version=found.version,
        entry_point=found.value,
        origin=found.origin,
        state=state,
    )
