"""Facts: events together with what their envelope says, decoded once and used by every fold."""

import msgspec

from spaced.clock import Timestamp
from spaced.domain.event_codec import CODEC, stored_kind
from spaced.domain.events.event import Event
from spaced.log.record import NewEvent, RecordedEvent


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """An event, where it stands, and what it is about.

    Attributes:
        stream: the stream that holds it, or is about to.
        version: its version there.
        created_at: when it happened, in milliseconds since the epoch.
    """

    stream: str
    version: int
    created_at: int
    event: Event
    session_id: str | None = None
    item_id: str | None = None


def new_event(event: Event, *, created_at: Timestamp, session_id: str | None = None) -> NewEvent:
    """Put an event into its envelope.

    Args:
        session_id: the session that it is about; for events of sessions only.

    Raises:
        InvalidBody: the event cannot be stored as JSON.
        ValueError: an event of a session names none, or another one does.
    """
    if event.is_of_session != (session_id is not None):
        raise ValueError(f"{event.kind!r} with session {session_id!r}")
    return NewEvent(
        kind=stored_kind(type(event)),
        body=CODEC.encode(event),
        session_id=session_id,
        item_id=item_id_in(event),
        created_at=created_at,
    )


def fact_of(recorded: RecordedEvent) -> Fact | None:
    """Decode a recorded event; `None` for a kind that this version of spaced does not know.

    Raises:
        InvalidBody: the body does not have the shape of its kind.
    """
    event = CODEC.decode(recorded.kind, recorded.body)
    if event is None:
        return None
    return Fact(
        stream=recorded.stream,
        version=recorded.version,
        created_at=recorded.created_at,
        event=event,
        session_id=recorded.session_id,
        item_id=recorded.item_id,
    )


def item_id_in(event: Event) -> str | None:
    """Return the item id that the body of an event names, where it names one."""
    item = getattr(event, "item", None)
    item_id = item.get("id") if isinstance(item, dict) else getattr(event, "item_id", None)
    return item_id if isinstance(item_id, str) else None
