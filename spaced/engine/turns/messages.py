"""What a running turn is told, one after the other, by clients, by its agent and by clocks."""

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Literal, TypeAlias

from spaced.engine.executions import LiveExecution
from spaced.engine.recording.signals import Signal
from spaced.errors import SpacedError

InterruptCause: TypeAlias = Literal["person", "move", "replace", "timeout", "deleted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The agent is connected."""

    live: LiveExecution


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFailed:
    """The agent could not be connected."""

    error: SpacedError


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver:
    """The agent was told the prompts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotHandedOver:
    """The agent was not told the prompts, or nobody knows.

    Attributes:
        is_certain: whether the agent has not begun, so that it is safe to try again.
    """

    message: str
    is_certain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """The agent said something that decides about the turn."""

    signal: Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwritable:
    """Something of the turn could not be recorded."""

    error: SpacedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """Somebody wants the turn to end; said twice, at once."""

    cause: InterruptCause


@dataclass(frozen=True, slots=True, kw_only=True)
class Woken:
    """There may be steers for the turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AsksChanged:
    """The turn waits for a person, or no longer does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A time has come: for the next attempt, or for the end of somebody's patience."""

    what: Literal["retry", "kill"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The daemon stops; whatever is not over by the grace is ended."""

    is_grace_over: bool


Message: TypeAlias = (
    Opened
    | OpenFailed
    | HandedOver
    | NotHandedOver
    | Reported
    | Unwritable
    | Interrupt
    | Woken
    | AsksChanged
    | Due
    | Stop
)


class Mailbox:
    """The messages to one turn, in the order in which they came."""

    def __init__(self) -> None:
        self._messages: deque[Message] = deque()
        self._has_some = asyncio.Event()

    def put(self, message: Message) -> None:
        """Add a message."""
        self._messages.append(message)
        self._has_some.set()

    async def get(self) -> Message:
        """Wait for the next message and take it."""
        while not self._messages:
            self._has_some.clear()
            await self._has_some.wait()
        return self._messages.popleft()

    def clear(self) -> None:
        """Forget what has not been taken."""
        self._messages.clear()

    @property
    def holds_interrupt(self) -> bool:
        """Whether somebody wants the turn to end, and it has not been told yet."""
        return any(isinstance(message, Interrupt) for message in self._messages)

    @property
    def holds_stop(self) -> bool:
        """Whether the daemon stops, and the turn has not been told yet."""
        return any(isinstance(message, Stop) for message in self._messages)
