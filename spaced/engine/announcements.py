"""Tells whoever listens what was committed and what is going on, each in its order.

Committed events come from the storage, after they are durable and in the order of their positions.
Everything else is marked ephemeral: a listener may miss it and finds the truth in the log.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from spaced.engine.live_status import LiveStatus
from spaced.log.record import RecordedEvent

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """Events that are durable, in the order of their positions."""

    events: Sequence[RecordedEvent]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """Text of an open item that may not be recorded yet.

    Attributes:
        offset: where it begins, in code points of the field's text.
    """

    run_id: str
    session_id: str
    item_id: str
    field: str
    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChanged:
    """A session's live status is another one."""

    run_id: str
    session_id: str
    status: LiveStatus


Announcement: TypeAlias = Committed | TextDelta | StatusChanged
Listener: TypeAlias = Callable[[Announcement], None]


class Announcements:
    """Passes announcements on to every listener, at once and without waiting for any of them."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell a listener everything from now on; returns what ends that.

        Args:
            listener: must be quick, and must not raise.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def announce(self, announcement: Announcement) -> None:
        """Tell every listener; one that fails costs the others nothing."""
        for listener in tuple(self._listeners):
            try:
                listener(announcement)
            except Exception:
                log.exception("a listener failed", extra={"event": "listener-failed"})

    def committed(self, events: Sequence[RecordedEvent]) -> None:
        """Pass on what a storage has committed."""
        self.announce(Committed(events=events))
