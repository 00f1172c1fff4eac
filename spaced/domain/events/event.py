"""What an event is, and the streams that events belong to.

A new kind of event is one class: put it into the module of its subject in this package, derive it
from the class of its stream, and mark it with `@event("its-kind")`. The catalogue, the codec and
docs/events.md find it by themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeVar, dataclass_transform


class StreamFamily(StrEnum):
    """The families of streams: one stream per run, workflow, profile, sync source, and `system`."""

    RUN = "run"
    WORKFLOW = "workflow"
    PROFILE = "profile"
    SYNC_SOURCE = "sync-source"
    SYSTEM = "system"


class Event:
    """A fact that was decided or reported; its fields are exactly the body that is stored."""

    __slots__ = ()

    kind: ClassVar[str]
    version: ClassVar[int]
    family: ClassVar[StreamFamily]
    is_of_session: ClassVar[bool] = False
    """Whether the envelope names the session that the event is about."""


class RunEvent(Event):
    """A fact about a run as a whole."""

    __slots__ = ()
    family = StreamFamily.RUN


class SessionEvent(RunEvent):
    """A fact about one session of a run; the envelope's `session_id` names it."""

    __slots__ = ()
    is_of_session = True


class WorkflowEvent(Event):
    """A fact about a workflow."""

    __slots__ = ()
    family = StreamFamily.WORKFLOW


class ProfileEvent(Event):
    """A fact about a profile."""

    __slots__ = ()
    family = StreamFamily.PROFILE


class SyncSourceEvent(Event):
    """A fact about a folder that workflows are read from."""

    __slots__ = ()
    family = StreamFamily.SYNC_SOURCE


class SystemEvent(Event):
    """A fact of the whole daemon."""

    __slots__ = ()
    family = StreamFamily.SYSTEM


_E = TypeVar("_E", bound=Event)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def event(kind: str, *, version: int = 1) -> Callable[[type[_E]], type[_E]]:
    """Make a class an event of this kind: a frozen dataclass that is built with keywords.

    Args:
        kind: the stable name of the fact, in kebab-case; never changed and never used again.
        version: raised when the body changes so that old readers would misread it; the codec then
            needs a function that lifts the version before.
    """

    def declare(cls: type[_E]) -> type[_E]:
        cls.kind = kind
        cls.version = version
        return dataclass(frozen=True, slots=True, kw_only=True)(cls)

    return declare
