"""Which models and agents a server offers in a folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spaced.plugin_api import JsonObject
from spaced_opencode.problems import SettingUnavailable
from spaced_opencode.server_api import ServerApi

_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What can be chosen.

    Attributes:
        version: of the server.
        models: their names by `provider/model`.
        agents: the names of those that a person can talk to.
    """

    version: str
    models: Mapping[str, str]
    agents: tuple[str, ...]

    def require_model(self, wanted: str) -> None:
        """Check a model, given as `provider/model`; empty is none.

        Raises:
            SettingUnavailable: it is not offered.
        """
        if wanted and wanted not in self.models:
            known = ", ".join(sorted(self.models)[:5]) or "none"
            raise SettingUnavailable(
                f"the OpenCode server offers no model {wanted!r}; it has {known}"
            )

    def require_agent(self, wanted: str) -> None:
        """Check an agent by its name; empty is none.

        Raises:
            SettingUnavailable: it is not offered.
        """
        if wanted and wanted not in self.agents:
            known = ", ".join(self.agents) or "none"
            raise SettingUnavailable(
                f"the OpenCode server has no agent {wanted!r} to talk to; it has {known}"
            )

    def as_info(self) -> JsonObject:
        """Return what clients are shown."""
        models = sorted(self.models.items())[:_SHOWN]
        return {
            "agent": "OpenCode",
            "version": self.version,
            "models": [{"id": model, "name": name} for model, name in models],
            "modes": [{"id": name, "name": name} for name in self.agents],
        }


async def read_catalogue(api: ServerApi) -> Catalogue:
    """Ask a server what it offers.

    Raises:
        RuntimeProblem: it cannot be asked.
    """
    version = await api.health()
    providers = await api.providers()
    agents = await api.agents()
    models = _models(providers)
    return Catalogue(
        version=version,
        models=models,
        agents=tuple(
            str(agent["name"])
            for agent in (agents if isinstance(agents, list) else ())
            if isinstance(agent, dict) and _can_be_talked_to(agent)
        ),
    )


def split_model(model: str) -> tuple[str, str] | None:
    """Return a model's provider and name; `None`: none is chosen."""
    provider, slash, name = model.partition("/")
    return (provider, name) if slash and provider and name else None


def _models(providers: Any) -> Mapping[str, str]:
    found: dict[str, str] = {}
    listed = providers.get("providers") if isinstance(providers, dict) else None
    for provider in listed if isinstance(listed, list) else ():
        models = provider.get("models") if isinstance(provider, dict) else None
        for model_id, model in models.items() if isinstance(models, dict) else ():
            name = model.get("name") if isinstance(model, dict) else None
            found[f"{provider.get('id')}/{model_id}"] = str(name or model_id)
    return found


def model_of(info: Mapping[str, Any]) -> str | None:
    """Return the model that a session or a message names, as `provider/model`."""
    nested = info.get("model")
    told = nested if isinstance(nested, dict) else info
    provider, model = told.get("providerID"), told.get("modelID", told.get("id"))
    is_named = isinstance(provider, str) and isinstance(model, str)
    return f"{provider}/{model}" if is_named else None


def _can_be_talked_to(agent: Mapping[str, Any]) -> bool:
    is_ours = agent.get("mode") in ("primary", "all") and not agent.get("hidden")
    return isinstance(agent.get("name"), str) and is_ours
