"""Frames of server-sent events: one line of JSON each, whatever the text in it.

Readers split a stream at CR, LF and CRLF, and some at every character that Unicode calls the end
of a line. JSON escapes the control characters anyway; the three others are escaped here.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from spaced.clock import Timestamp, to_rfc3339
from spaced.log.record import RecordedEvent

HELLO: Final = "hello"
RESET: Final = "reset"
LIVE: Final = "live"
HEARTBEAT: Final = "heartbeat"
LAGGED: Final = "lagged"
BYE: Final = "bye"
PROBLEM: Final = "problem"
DELTA: Final = "agent-item-delta"
STATUS: Final = "status"

# U+0085, U+2028 and U+2029 in UTF-8; inside JSON they can only stand in strings.
_LINE_ENDS: Final = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


class _EventData(msgspec.Struct, frozen=True):
    """The shape `Event`, with a body that is copied and not read."""

    stream: str
    version: int
    cursor: str
    kind: str
    session_id: str | None
    item_id: str | None
    body: msgspec.Raw
    created_at: str
    recorded_at: str


def event_frame(event: RecordedEvent, log_id: str) -> bytes:
    """Return the frame of a durable event; its `id` is the cursor right behind it."""
    cursor = f"{log_id}.{event.position}"
    data = _EventData(
        event.stream,
        event.version,
        cursor,
        event.kind,
        event.session_id,
        event.item_id,
        msgspec.Raw(event.body),
        to_rfc3339(Timestamp(event.created_at)),
        to_rfc3339(Timestamp(event.recorded_at)),
    )
    return frame(event.kind, msgspec.json.encode(data), cursor)


def told(name: str, data: Mapping[str, object], cursor: str | None = None) -> bytes:
    """Return the frame of something that is no event of the log."""
    return frame(name, msgspec.json.encode(data), cursor)


def frame(name: str, data: bytes, cursor: str | None) -> bytes:
    """Return a frame.

    Args:
        data: JSON without line breaks outside of its strings.
        cursor: where a reader goes on that has read this frame; `None` for ephemeral ones.
    """
    for raw, escaped in _LINE_ENDS:
        if raw in data:
            data = data.replace(raw, escaped)
    place = b"" if cursor is None else b"id: %s\n" % cursor.encode()
    return b"%sevent: %s\ndata: %s\n\n" % (place, name.encode(), data)
