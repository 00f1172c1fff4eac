"""What a profile's options mean here: some are ours, all others are settings of the agent's own.

| option | default | meaning |
| --- | --- | --- |
| `resumable` | true | false: the agent loses what it is asked to load, so that it never is |
| `auth_method` | none | the method to log in with, where the agent has to be told |
| `start_seconds` | 60 | how long the agent may take until it is ready |
| `session_seconds` | 60 | how long it may take to begin or to resume a conversation |
| `load_seconds` | 180 | how long it may take to load one, which it then tells again as a whole |
| `idle_seconds` | 600 | how long it may say nothing in a turn; 0 waits for ever |
| `refusal_means_lost` | false | a refusal without a word means that the conversation is unknown |

Any other option is one of those that the agent offers, such as `thought_level`, by its id.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeAlias

from spaced.plugin_api import JsonObject
from spaced_acp.problems import BadOptions

Setting: TypeAlias = str | bool
"""The value of an agent's own option."""

_LONGEST_SECONDS: Final = 24 * 60 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpOptions:
    """A profile's options.

    Attributes:
        agent: the agent's own options by their ids, to be set after each start.
    """

    resumable: bool = True
    auth_method: str | None = None
    start_seconds: float = 60
    session_seconds: float = 60
    load_seconds: float = 180
    idle_seconds: float = 600
    refusal_means_lost: bool = False
    agent: Mapping[str, Setting] = field(default_factory=dict)


_OURS: Final = frozenset(each.name for each in fields(AcpOptions)) - {"agent"}


def read_options(options: JsonObject | None) -> AcpOptions:
    """Return the options of a profile.

    Raises:
        BadOptions: one of them has no fitting value.
    """
    ours: dict[str, Any] = {}
    agents: dict[str, Setting] = {}
    for name, value in (options or {}).items():
        if name in _OURS:
            ours[name] = _checked(name, value)
        elif isinstance(value, str | bool):
            agents[name] = value
        else:
            raise BadOptions(f"the option {name!r} of an agent is a text or a truth value")
    return AcpOptions(**ours, agent=agents)


def _checked(name: str, value: object) -> object:
    if name.endswith("_seconds"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadOptions(f"the option {name!r} is a number of seconds")
        if not 0 <= value <= _LONGEST_SECONDS:
            raise BadOptions(f"the option {name!r} lies between 0 and {_LONGEST_SECONDS} seconds")
    elif name == "auth_method":
        if value is not None and not isinstance(value, str):
            raise BadOptions(f"the option {name!r} is the id of a method")
    elif not isinstance(value, bool):
        raise BadOptions(f"the option {name!r} is true or false")
    return value
