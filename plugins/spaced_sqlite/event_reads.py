"""Reads of recorded events; every one follows an index."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from spaced.plugin_api import RecordedEvent, StreamHead
from spaced_sqlite.readers import Reader
from spaced_sqlite.statements import QUERIES

_EventRow: TypeAlias = tuple[int, int, int, int, bytes, int, int, int | None, str | None]


def read_stream(
    reader: Reader, stream: str, *, after: int, limit: int | None, session_id: str | None
) -> Sequence[RecordedEvent]:
    """Return a stream's events, or those about one session."""
    parameters = _numbers(reader, stream, session_id)
    if parameters is None:
        return []
    query = QUERIES["stream_events" if session_id is None else "session_events"]
    parameters |= {"after": after, "limit": _limit(limit)}
    rows = reader.conn.execute(query, parameters).fetchall()
    return _events(reader, rows)


def read_items(
    reader: Reader,
    stream: str,
    *,
    after: int,
    limit: int | None,
    session_id: str,
    item_ids: Sequence[str],
) -> Sequence[RecordedEvent]:
    """Return a stream's events about some items, looking at no other event."""
    with reader.snapshot():
        rows = _item_rows(reader, stream, session_id, item_ids, after=after, limit=limit)
    rows.sort(key=_position_of)
    return _events(reader, rows if limit is None else rows[:limit])


def read_items_of_sessions(
    reader: Reader, wanted: Mapping[tuple[str, str], Sequence[str]]
) -> Sequence[RecordedEvent]:
    """Return the events about items of several sessions in position order, as of one moment."""
    rows: list[_EventRow] = []
    with reader.snapshot():
        for (stream, session_id), item_ids in wanted.items():
            rows += _item_rows(reader, stream, session_id, item_ids, after=0, limit=None)
    rows.sort(key=_position_of)
    return _events(reader, rows)


def _item_rows(
    reader: Reader,
    stream: str,
    session_id: str,
    item_ids: Sequence[str],
    *,
    after: int,
    limit: int | None,
) -> list[_EventRow]:
    parameters = _numbers(reader, stream, session_id)
    if parameters is None:
        return []
    parameters |= {"after": after, "limit": _limit(limit)}
    query = QUERIES["item_events"]
    rows: list[_EventRow] = []
    # One look-up per item and not a list in SQL: of an unbounded length, and any text may be an id.
    for item in dict.fromkeys(item_ids):
        rows += reader.conn.execute(query, {**parameters, "item": item}).fetchall()
    return rows


def _position_of(row: _EventRow) -> int:
    return row[0]


def version(reader: Reader, stream: str) -> int:
    """Return the version that a stream is at, 0 if it has no events."""
    parameters = _numbers(reader, stream, None)
    if parameters is None:
        return 0
    newest: int = reader.conn.execute(QUERIES["stream_version"], parameters).fetchone()[0]
    return newest


def read_all(
    reader: Reader, *, after: int, limit: int, kinds: Sequence[str] | None
) -> Sequence[RecordedEvent]:
    """Return events of the whole log in position order."""
    parameters: dict[str, int | bytes] = {"after": after, "limit": limit}
    query = "log_events"
    if kinds is not None:
        numbers = [number for kind in kinds if (number := reader.number_of(kind)) is not None]
        parameters["kinds"] = msgspec.json.encode(numbers).decode()  # type: ignore[assignment]
        query = "log_events_of_kinds"
    rows = reader.conn.execute(QUERIES[query], parameters).fetchall()
    return _events(reader, rows)


def list_streams(reader: Reader, *, after: str, limit: int) -> Sequence[StreamHead]:
    """Return streams that hold events, by name."""
    rows = reader.conn.execute(QUERIES["streams"], {"after": after, "limit": limit}).fetchall()
    return [StreamHead(stream=name, version=version) for name, version in rows]


def _events(reader: Reader, rows: Iterable[_EventRow]) -> list[RecordedEvent]:
    names = reader.names
    return [
        RecordedEvent(
            stream=names[stream],
            version=version,
            position=position,
            kind=names[kind],
            body=body,
            created_at=created_at,
            recorded_at=recorded_at,
            session_id=None if session is None else names[session],
            item_id=item,
        )
        for position, stream, version, kind, body, created_at, recorded_at, session, item in rows
    ]


def _numbers(reader: Reader, stream: str, session_id: str | None) -> dict[str, int] | None:
    """Return the numbers of a stream and a session; none if nothing was ever recorded of one."""
    found = reader.number_of(stream)
    if found is None:
        return None
    if session_id is None:
        return {"stream": found}
    session = reader.number_of(session_id)
    return None if session is None else {"stream": found, "session": session}


def _limit(limit: int | None) -> int:
    return -1 if limit is None else limit
