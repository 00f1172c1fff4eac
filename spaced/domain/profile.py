"""A profile: a named configuration of an agent."""

from dataclasses import dataclass
from typing import Literal

from spaced.domain.json_values import JsonObject

OnRestart = Literal["ask", "continue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How a session's agent is reached and what it may do.

    Attributes:
        name: what a person calls it.
        agent_name: the agent's family, as portable workflow files name it.
        runtime: the runtime plugin's name for it.
        command: the resolved absolute command and its arguments; empty for remote agents.
        options: the runtime's own settings.
        permissions: rules `{tool_kind, pattern, decision}`, the last one that matches holds.
        environment: names of the daemon's variables that the agent's process may see, and
            `NAME=value` for what it is given; a secret belongs into the daemon's environment.
        cancel_grace_ms: how long an interrupt waits for the agent before it is killed; `None` is
            the runtime's default, or the daemon's setting.
        on_restart: whether an interrupted turn is left alone or the agent is told to go on.
        headless: whether an ask that no rule settles is refused at once, since nobody is there to
            answer it.
    """

    name: str
    agent_name: str
    runtime: str
    command: tuple[str, ...] = ()
    model: str = ""
    mode: str = ""
    options: JsonObject | None = None
    permissions: tuple[JsonObject, ...] = ()
    environment: tuple[str, ...] = ()
    cancel_grace_ms: int | None = None
    on_restart: OnRestart = "ask"
    headless: bool = False
