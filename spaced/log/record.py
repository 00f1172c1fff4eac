"""What a log holds: events on their way in, and events as recorded.

A body is kept as the bytes of one compact JSON object from the moment an event is decided until
somebody needs its fields. So a storage never interprets a body, every storage returns exactly what
it was given, and a stream to a client copies bytes instead of decoding and encoding them again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NewType

import msgspec

from spaced.clock import Timestamp

StreamName = NewType("StreamName", str)
"""The id of the run, workflow, profile or sync source that a stream belongs to, or `system`."""

Version = NewType("Version", int)
"""The place of an event in its stream: 1, 2, 3, … without gaps. 0: the stream is empty."""

Position = NewType("Position", int)
"""The place of an event in the whole log: ascending, from 1. 0 stands before the first event."""

SYSTEM_STREAM = StreamName("system")


# Structs and not dataclasses: reading a long transcript makes tens of thousands of these, and a
# frozen dataclass of this size takes ten times as long to build.
class NewEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event on its way into the log.

    Attributes:
        kind: the stable name of the fact, in kebab-case.
        body: one JSON object in compact UTF-8 with exactly the kind's own fields.
        session_id: the session that the event is about, where there is one.
        item_id: repeats the body's item id, as an index.
        created_at: when the fact happened.
    """

    kind: str
    body: bytes
    created_at: Timestamp
    session_id: str | None = None
    item_id: str | None = None


class RecordedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event as the log holds it; stream and version are its identity.

    Attributes:
        position: its place in the whole log.
        recorded_at: when it was stored; `created_at` is when it happened.
    """

    stream: str
    version: int
    position: int
    kind: str
    body: bytes
    created_at: int
    recorded_at: int
    session_id: str | None = None
    item_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamWrite:
    """Events for one stream, to be written only if the stream is where the writer believes it is.

    Attributes:
        expected_version: the stream's version before the write; 0 for a stream that must not exist.
        events: what to append. Without events the write only checks the version, atomically with
            the rest of the append.
    """

    stream: str
    expected_version: int
    events: Sequence[NewEvent] = ()
