"""All kinds of events, of all streams."""

from types import ModuleType
from typing import Final

from spaced.domain.events import (
    ask,
    handover,
    profile,
    prompt,
    run,
    session,
    sync_source,
    system,
    transcript,
    turn,
    workflow,
)
from spaced.domain.events.event import Event

MODULES: Final[tuple[ModuleType, ...]] = (
    transcript,
    run,
    prompt,
    turn,
    ask,
    session,
    handover,
    workflow,
    profile,
    sync_source,
    system,
)
"""The modules of events, in the order in which the documentation shows them."""


def events_of(module: ModuleType) -> tuple[type[Event], ...]:
    """Return the event classes that a module declares, in its order."""
    return tuple(
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Event) and "kind" in vars(value)
    )


EVENTS: Final[tuple[type[Event], ...]] = tuple(
    cls for module in MODULES for cls in events_of(module)
)
"""Every event class; each kind once."""
