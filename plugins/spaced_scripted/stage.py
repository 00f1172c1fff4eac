"""What steps play on: everything of one connection that they may touch."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from spaced.plugin_api import Clock, Prompt, Reporter, SessionSpec, Tasks
from spaced_scripted.asks import Asks
from spaced_scripted.commands import Commands
from spaced_scripted.gates import Gates
from spaced_scripted.memory import Conversation, Memory, TurnRecord
from spaced_scripted.voice import Voice


@dataclass(slots=True, kw_only=True)
class Stage:
    """One connection's belongings.

    Attributes:
        conversation: the one that is going on; changes when it is lost or forgotten.
        is_told: whether the daemon knows what continues the conversation.
        options: the profile's, with what was configured since.
    """

    session: SessionSpec
    clock: Clock
    log: logging.Logger
    gates: Gates
    memory: Memory
    tasks: Tasks
    reporter: Reporter
    commands: Commands
    conversation: Conversation
    new_id: Callable[[], str]
    options: dict[str, Any] = field(default_factory=dict)
    asks: Asks = field(default_factory=Asks)
    is_told: bool = False

    @property
    def survives(self) -> bool:
        """Whether turns go on although the daemon dies."""
        return self.options.get("survives") is True

    def begin_conversation(self) -> None:
        """Begin a new conversation; nothing of it is written before its first turn."""
        self.conversation = Conversation(id=self.new_id(), session_id=self.session.session_id)
        self.is_told = False


@dataclass(slots=True, kw_only=True)
class Scene:
    """What one list of steps plays in: a turn, or what comes after it.

    Attributes:
        record: the turn; what is said after it still knows it.
        afterwards: lists of steps to play when the turn has ended, each with its voice.
        keeps_going: whether interrupts are ignored.
        steered: set whenever prompts were handed into the turn.
    """

    stage: Stage
    voice: Voice
    record: TurnRecord
    afterwards: list[tuple[Voice, Any]] = field(default_factory=list)
    keeps_going: bool = False
    steered: asyncio.Event = field(default_factory=asyncio.Event)


def prompts_to_json(prompts: tuple[Prompt, ...]) -> list[dict[str, Any]]:
    """Return prompts as they are written down."""
    return [{"id": prompt.id, "parts": [dict(part) for part in prompt.parts]} for prompt in prompts]


def text_of(prompt: dict[str, Any]) -> str:
    """Return the text of a prompt that was written down."""
    return Prompt(id=prompt["id"], parts=tuple(prompt["parts"])).text
