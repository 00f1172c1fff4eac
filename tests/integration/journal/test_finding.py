"""What is listed and found after facts were recorded: through index and search alone."""

import pytest

from spaced.domain.events.event import Event
from spaced.domain.events.run import RunDeleted, RunUpdated
from spaced.domain.events.session import SessionConfigured, SessionDeleted
from spaced.domain.events.transcript import (
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentSessionCreated,
    AgentStatusChanged,
)
from spaced.engine.journal import Entry, Journal
from spaced.log.read_models.catalogue import OPEN_TAIL
from spaced.log.table import DeleteRow, PutRow, Row
from spaced.storage.protocol import Storage
from spaced.testing.fake_clock import START
from tests.integration.journal.telling import (
    begin_chat,
    findings,
    found,
    item,
    tell,
    version_of,
)
from tests.unit.log.stories import said


async def _listed(storage: Storage, table: str = "session") -> list[object]:
    order = "latest" if table == "session" else "newest"
    rows = await storage.list_rows(table, where={"visibility": "listed"}, order=order)
    return [row["id"] for row in rows.rows]


def _text(offset: int, text: str) -> AgentItemTextAppended:
    return AgentItemTextAppended(item_id="a", field="content", offset=offset, text=text)


async def test_sessions_are_listed_by_the_time_of_their_last_change(
    storage: Storage, journal: Journal
) -> None:
    """The latest first; an event that happened earlier moves a session down."""
    for name in ("one", "two", "three"):
        await begin_chat(storage, journal, name)
    await tell(storage, journal, "two", said(AgentStatusChanged(status="x"), "two", at=START + 9))
    await tell(storage, journal, "one", said(AgentStatusChanged(status="x"), "one", at=START - 9))

    assert await _listed(storage) == ["two", "three", "one"]


@pytest.mark.parametrize(
    "event",
    [RunUpdated(archived=True), RunDeleted(purge_at="2027-01-01T00:00:00.000Z"), SessionDeleted()],
    ids=lambda event: event.kind,
)
async def test_archived_and_deleted_sessions_leave_the_listing(
    storage: Storage, journal: Journal, event: Event
) -> None:
    """The others stay; later facts about the session do not bring it back."""
    await begin_chat(storage, journal, "one")
    await begin_chat(storage, journal, "two")
    await tell(storage, journal, "one", event)
    await tell(storage, journal, "one", AgentStatusChanged(status="idle"))

    assert await _listed(storage) == ["two"]


async def test_a_session_that_is_taken_out_of_the_archive_is_listed_again(
    storage: Storage, journal: Journal
) -> None:
    """Run and session both."""
    await begin_chat(storage, journal, "one", RunUpdated(archived=True))
    await tell(storage, journal, "one", RunUpdated(archived=False))

    assert await _listed(storage) == ["one"]
    assert await _listed(storage, "run") == ["one"]


async def test_a_run_takes_the_sessions_that_it_names_through_the_archive(
    storage: Storage, journal: Journal
) -> None:
    """Every session of a run moves between the lists with it, and a session of another run stays."""
    await begin_chat(storage, journal, "one")
    await begin_chat(storage, journal, "two")
    await tell(storage, journal, "one", said(AgentSessionCreated(data={}), "one-later"))
    assert set(await _listed(storage)) == {"one", "one-later", "two"}

    named = ("one", "one-later", "two", "never-was")
    await tell(storage, journal, "one", RunUpdated(archived=True, session_ids=named))
    assert await _listed(storage) == ["two"]

    await tell(storage, journal, "one", RunUpdated(archived=False, session_ids=named))
    assert set(await _listed(storage)) == {"one", "one-later", "two"}


async def test_an_item_of_many_megabytes_can_be_completed(
    storage: Storage, journal: Journal
) -> None:
    """Only the beginning of a huge text is indexed, so that the item's end fits into an append."""
    await begin_chat(storage, journal, "run", item("a", stream_status="streaming"))
    step = 3_000_000
    for number in range(3):
        await tell(storage, journal, "run", _text(number * step, "many words ".ljust(step, "x")))

    await tell(
        storage,
        journal,
        "run",
        AgentItemUpdated(item_id="a", updates={"stream_status": "complete"}),
    )

    assert await found(storage, "item", "many words") == {("run", "a")}


async def test_text_is_found_once_its_item_is_complete(storage: Storage, journal: Journal) -> None:
    """While it is open it grows piece by piece, and search does not see halves of words."""
    await begin_chat(storage, journal, "run", item("a", stream_status="streaming"))
    await tell(storage, journal, "run", _text(0, "pears and app"))
    assert await found(storage, "item", "pears") == set()
    await tell(storage, journal, "run", _text(13, "les"))
    assert await found(storage, "item", "apples") == set()

    await tell(
        storage,
        journal,
        "run",
        AgentItemUpdated(item_id="a", updates={"stream_status": "complete"}),
    )

    assert await found(storage, "item", "pears apples") == {("run", "a")}
    assert await found(storage, "item", "app") == set()


async def test_an_item_that_is_replaced_is_found_by_its_new_words_alone(
    storage: Storage, journal: Journal
) -> None:
    """Words that it no longer has lead nowhere."""
    await begin_chat(storage, journal, "run", item("a", "pears"))
    await tell(storage, journal, "run", AgentItemUpserted(item={"id": "a", "output": "plums"}))

    assert await found(storage, "item", "pears") == set()
    assert await found(storage, "item", "plums") == {("run", "a")}


async def test_updating_one_field_keeps_the_words_of_the_others(
    storage: Storage, journal: Journal
) -> None:
    """The index holds the item as it stands, not only what changed."""
    await begin_chat(storage, journal, "run", item("a", "pears", title="Fruit"))
    await tell(storage, journal, "run", AgentItemUpdated(item_id="a", updates={"title": "Food"}))

    assert await found(storage, "item", "pears food") == {("run", "a")}
    assert await found(storage, "item", "fruit") == set()


async def test_titles_are_found_as_they_are_now(storage: Storage, journal: Journal) -> None:
    """Of runs and of sessions."""
    await begin_chat(
        storage, journal, "run", RunUpdated(title="Old"), SessionConfigured(title="Old")
    )
    await tell(storage, journal, "run", RunUpdated(title="New"), SessionConfigured(title=""))

    assert await found(storage, "run", "old") == set()
    assert await found(storage, "run", "new") == {("run",)}
    assert await found(storage, "session", "old") == set()


async def test_a_row_that_no_event_tells_is_written_with_the_events(
    storage: Storage, journal: Journal
) -> None:
    """The tail of an open item comes and goes in the same append as its text; the doctor lets it."""
    await begin_chat(storage, journal, "run", item("a", stream_status="streaming"))
    tail: Row = {
        "session_id": "run",
        "item_id": "a",
        "field": "content",
        "stream": "run",
        "offset": 0,
        "text": "pear",
    }
    await journal.append(own_rows=[PutRow(table=OPEN_TAIL.name, row=tail)])
    assert (await storage.list_rows(OPEN_TAIL.name)).rows == [tail]
    assert await findings(storage) == []

    await journal.append(
        Entry(
            stream="run",
            expected_version=await version_of(storage, "run"),
            statements=[said(_text(0, "pears"), "run")],
        ),
        own_rows=[DeleteRow(table=OPEN_TAIL.name, key=("run", "a", "content"))],
    )

    assert (await storage.list_rows(OPEN_TAIL.name)).rows == []
