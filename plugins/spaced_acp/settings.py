"""What an agent lets its user choose: modes, models and options of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from spaced.plugin_api import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Something to choose.

    Attributes:
        via: how the agent is told: by its own option of this id, or by what every agent has.
        values: the names of what can be chosen, by their ids; empty for a truth value.
        current: what is chosen now, as far as the agent tells.
    """

    via: str
    is_option: bool
    values: Mapping[str, str] = field(default_factory=dict)
    current: str | bool | None = None

    def value_for(self, wanted: str | bool) -> str | bool | None:
        """Return the value that is meant by its id or its name; `None`: it is not offered."""
        if isinstance(wanted, bool) or isinstance(self.current, bool):
            is_switch = isinstance(wanted, bool) and not self.values
            return wanted if is_switch else None
        if wanted in self.values:
            return wanted
        same = [i for i, name in self.values.items() if wanted.lower() in (i.lower(), name.lower())]
        return same[0] if len(same) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """All choices of one conversation: `mode`, `model`, and the agent's options by their ids."""

    mode: Choice | None = None
    model: Choice | None = None
    options: Mapping[str, Choice] = field(default_factory=dict)

    def choice(self, name: str) -> Choice | None:
        """Return the choice of this name."""
        if name == "mode":
            return self.options.get("mode") or self.mode
        if name == "model":
            return self.options.get("model") or self.model
        return self.options.get(name)

    def with_options(self, options: Mapping[str, Choice]) -> "AgentSettings":
        """Return these settings after the agent told all its options anew."""
        return replace(self, options=options)

    def as_info(self) -> JsonObject:
        """Return what clients are shown."""
        told: dict[str, object] = {}
        for name, key in (("mode", "modes"), ("model", "models")):
            if (choice := self.choice(name)) is not None:
                told[name] = choice.current
                told[key] = _listed(choice.values)
        rest = {i: one for i, one in self.options.items() if i not in ("mode", "model")}
        if rest:
            told["options"] = {i: _shown(one) for i, one in rest.items()}
        return told


def _shown(choice: Choice) -> JsonObject:
    return {"current": choice.current, "values": _listed(choice.values)}


def _listed(values: Mapping[str, str]) -> Sequence[JsonObject]:
    return [{"id": value, "name": name} for value, name in values.items()]
