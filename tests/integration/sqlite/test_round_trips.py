"""What goes in comes out, to the last byte."""

from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spaced.plugin_api import NewEvent, PutRow, Row, Timestamp
from spaced.testing.samples import write
from spaced.testing.tables import CARD, card
from spaced_sqlite.storage import SqliteStorage

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
EVENTS = st.builds(
    NewEvent,
    kind=TEXTS,
    body=st.binary(max_size=200),
    created_at=INTEGERS.map(Timestamp),
    session_id=st.none() | TEXTS,
    item_id=st.none() | TEXTS,
)
STREAMS = count()

relaxed = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@relaxed
@given(events=st.lists(EVENTS, min_size=1, max_size=8), name=TEXTS)
async def test_events_come_back_identical(
    storage: SqliteStorage, events: list[NewEvent], name: str
) -> None:
    """Whatever the bytes of a body and the letters of a name, also NUL and what looks like SQL."""
    stream = f"{next(STREAMS)}-{name}"
    appended = await storage.append([write(stream, 0, *events)])
    assert [(e.kind, e.body, e.created_at, e.session_id, e.item_id) for e in appended.events] == [
        (e.kind, e.body, e.created_at, e.session_id, e.item_id) for e in events
    ]

    assert await storage.read_stream(stream) == appended.events
    first = appended.events[0].position
    assert await storage.read_all(after=first - 1, limit=99) == appended.events
    kinds = {event.kind for event in events}
    for kind in kinds:
        found = await storage.read_all(after=first - 1, limit=99, kinds=[kind])
        assert found == [event for event in appended.events if event.kind == kind]


@relaxed
@given(events=st.lists(EVENTS, min_size=1, max_size=8))
async def test_items_are_found_whatever_their_ids(
    storage: SqliteStorage, events: list[NewEvent]
) -> None:
    """An item's id is any text that an agent sends."""
    stream = f"items-{next(STREAMS)}"
    recorded = (await storage.append([write(stream, 0, *events)])).events
    for session in {event.session_id for event in events} - {None}:
        mine = [event for event in recorded if event.session_id == session]
        assert await storage.read_stream(stream, session_id=session) == mine
        items = [event.item_id for event in mine if event.item_id is not None]
        found = await storage.read_stream(stream, session_id=session, item_ids=items)
        assert found == [event for event in mine if event.item_id is not None]


@relaxed
@given(
    row=st.builds(
        card,
        TEXTS,
        board=TEXTS,
        rank=INTEGERS,
        done_at=st.none() | INTEGERS,
        note=st.none() | TEXTS,
    )
)
async def test_rows_come_back_identical(storage: SqliteStorage, row: Row) -> None:
    """Null stays null, and the largest integers stay integers."""
    await storage.append([], [PutRow(table="card", row=row)])

    assert (await storage.get_rows("card", [CARD.key_of(row)])).rows == [row]
    assert (await storage.list_rows("card", where=row)).rows == [row]
