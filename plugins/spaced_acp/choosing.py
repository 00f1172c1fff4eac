"""Sets what a profile or a person chose: the agent's mode, its model and its options.

An agent starts, and starts again after a load, with a mode of its own, which may be one that asks
nobody. So what was chosen is told each time, and what it answers is believed more than the request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from spaced.plugin_api import ConfigureOutcome
from spaced_acp import codec_v1 as v1
from spaced_acp.calls import Caller, CallRefused
from spaced_acp.conversation import Conversation
from spaced_acp.problems import AgentSilent, SettingUnavailable
from spaced_acp.settings import AgentSettings, Choice

_SECONDS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a profile, or a person since, wants: empty texts leave the choice to the agent."""

    mode: str = ""
    model: str = ""
    options: Mapping[str, str | bool] = field(default_factory=dict)

    def with_choice(self, name: str, value: str | bool) -> "Wishes":
        """Return these wishes with another one."""
        if name == "mode":
            return replace(self, mode=str(value))
        if name == "model":
            return replace(self, model=str(value))
        return replace(self, options={**self.options, name: value})


class Chooser:
    """Makes choices in one conversation.

    Attributes:
        settings: what there is to choose, as the agent told it last.
    """

    def __init__(self, caller: Caller, conversation: Conversation) -> None:
        self.settings: AgentSettings = conversation.settings
        self._caller = caller
        self._id = conversation.id

    async def apply(self, wishes: Wishes) -> Mapping[str, ConfigureOutcome]:
        """Set what is wanted and return what came of the options.

        Raises:
            SettingUnavailable: the mode or the model could not be set: a session must not go on
                with more rights, or at another price, than somebody chose.
        """
        for name, wanted in (("mode", wishes.mode), ("model", wishes.model)):
            if wanted and await self.choose(name, wanted) != "applied":
                raise SettingUnavailable(self._unavailable(name, wanted))
        return {name: await self.choose(name, value) for name, value in wishes.options.items()}

    async def choose(self, name: str, wanted: object) -> ConfigureOutcome:
        """Set one thing and return what came of it."""
        choice = self.settings.choice(name)
        if choice is None:
            return "unsupported"
        value = choice.value_for(wanted) if isinstance(wanted, str | bool) else None
        if value is None:
            return "unsupported"
        method, params = v1.setting_request(choice, value, self._id)
        try:
            result = await self._caller.call(method, params, seconds=_SECONDS)
        except (CallRefused, AgentSilent):
            return "failed"
        return self._note(name, value, result)

    def _note(self, name: str, value: str | bool, result: Mapping[str, object]) -> ConfigureOutcome:
        told = v1.read_options(result.get("configOptions"))
        if told:
            self.settings = self.settings.with_options(told)
        after: Choice | None = told.get(name)
        is_other = after is not None and after.current not in (None, value)
        return "failed" if is_other else "applied"

    def _unavailable(self, name: str, wanted: str) -> str:
        choice = self.settings.choice(name)
        if choice is None:
            return f"{self._caller.agent} lets nobody choose a {name}, and {wanted!r} is wanted"
        if choice.value_for(wanted) is not None:
            return f"{self._caller.agent} did not take the {name} {wanted!r}"
        offered = ", ".join(list(choice.values)[:20])
        return f"{self._caller.agent} has no {name} {wanted!r}; it has: {offered}"
