"""Plugins and settings: what this daemon is made of."""

from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.plugin_host.inventory import PluginFacts
from spaced.wire import reports

ROUTES = RouteTable("plugins")


@ROUTES.get("/v1/plugins")
async def list_plugins(services: Services) -> reports.PluginList:
    """List the plugins that are installed, and what became of each."""
    inventory = services.plugins
    return reports.PluginList(
        plugins=tuple(_plugin(facts) for facts in inventory.plugins),
        problems=tuple(inventory.problems),
    )


@ROUTES.get("/v1/settings")
async def list_settings(services: Services) -> reports.SettingList:
    """List every key of the settings with its value and where that comes from."""
    return reports.SettingList(settings=tuple(services.settings))


def _plugin(facts: PluginFacts) -> reports.Plugin:
    offers = [f"storage {name}" for name in facts.storages]
    offers += [f"runtime {name}" for name in facts.runtimes]
    return reports.Plugin(
        name=facts.name,
        distribution=facts.distribution,
        version=facts.version,
        entry_point=facts.entry_point,
        origin=facts.origin,
        state=facts.state,
        hooks=tuple(facts.hooks),
        offers=tuple(offers),
        reason=facts.reason,
        traceback=facts.traceback,
    )
