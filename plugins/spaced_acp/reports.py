"""What an agent says about its conversation, in words that no version of the protocol owns.

A codec makes these from messages of its version. They are shaped for a protocol of states: each
names the thing that it is about, and says how that looks now or what was added to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from spaced.plugin_api import JsonObject

Speaker: TypeAlias = Literal["user", "assistant", "reasoning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A piece of a message was said.

    Attributes:
        message_id: the agent's name for the message; without one, pieces that follow each other
            belong together.
        block: what was said if it is no text, such as an image.
    """

    speaker: Speaker
    text: str = ""
    message_id: str | None = None
    block: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallChanged:
    """A tool call began or changed.

    Attributes:
        changes: what is known now: `name title kind status raw_input raw_output content
            locations`; what is left out stays as it was. `printed` is what was added to its
            output since.
        is_beginning: whether the agent tells it as a new call, and not as a change of one.
    """

    call_id: str
    is_beginning: bool = False
    changes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReplaced:
    """The plan is this now: `{content, priority, status}` each."""

    entries: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoChanged:
    """The agent tells about its session, such as `title`, `commands`, `mode` or `settings`."""

    info: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextUsed:
    """How full the context is and what the conversation has cost so far."""

    usage: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Something that this version of ours has no word for."""

    kind: str
    payload: JsonObject


Report: TypeAlias = Said | CallChanged | PlanReplaced | InfoChanged | ContextUsed | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequest:
    """The agent wants to be allowed a tool call.

    Attributes:
        options: `{option_id, name, kind}` each.
    """

    conversation: str
    call: CallChanged
    options: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """How the agent says that a turn ended."""

    stop_reason: str
    usage: JsonObject | None = None
