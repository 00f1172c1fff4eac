"""Transcripts page by page: complete, in order, and at the cost of what is shown."""

from typing import cast

import pytest

from spaced.domain.events.event import Event
from spaced.domain.events.transcript import (
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentSessionCreated,
    AgentStatusChanged,
)
from spaced.engine.journal import Journal
from spaced.engine.transcripts import all_items, newest_items
from spaced.errors import CorruptStream, UnknownItem
from spaced.storage.protocol import Storage
from spaced.testing.samples import event
from tests.integration.journal.observed_storage import ObservedStorage
from tests.integration.journal.telling import begin_chat, item, plant, tell
from tests.unit.log.stories import said

LENGTH = 3000
PAGE = 100


def _observed(storage: Storage) -> tuple[ObservedStorage, Storage]:
    observed = ObservedStorage(storage)
    return observed, cast("Storage", observed)


def _name(number: int) -> str:
    return f"item-{number}"


async def _long_chat(storage: Storage, journal: Journal, length: int, *, portion: int) -> None:
    """Record a chat in which the ids of the items do not ascend."""
    await begin_chat(storage, journal, "run")
    for start in range(1, length + 1, portion):
        numbers = range(start, min(start + portion, length + 1))
        await tell(storage, journal, "run", *(item(_name(n), f"word{n}") for n in numbers))


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 10, 11])
async def test_pages_show_every_item_exactly_once(
    storage: Storage, journal: Journal, limit: int
) -> None:
    """From the newest to the oldest, each page in the transcript's order, and then an end."""
    await _long_chat(storage, journal, 10, portion=10)
    pages, before = [], None

    while True:
        page = await newest_items(storage, "run", limit=limit, before=before)
        pages.append([cast("str", one["id"]) for one in page.items])
        if page.before is None:
            break
        assert page.before == pages[-1][0]
        before = page.before

    assert [one for page in reversed(pages) for one in page] == [_name(n) for n in range(1, 11)]
    assert all(len(page) == limit for page in pages[:-1])
    assert pages[-1]


async def test_a_page_shows_items_as_they_stand_now(storage: Storage, journal: Journal) -> None:
    """Everything that happened to them since is folded in, wherever it stands in the stream."""
    later: list[Event] = [
        AgentItemUpdated(item_id="a", updates={"n": 1}),
        AgentItemTextAppended(item_id="b", field="content", offset=1, text="!"),
        AgentStatusChanged(status="running"),
        AgentItemUpserted(item={"id": "a", "content": "new"}),
        AgentItemUpdated(item_id="c", updates={"id": "a", "n": 2}),
    ]
    await begin_chat(
        storage, journal, "run", item("a", "x"), item("b", "y"), item("c", "z"), *later
    )

    page = await newest_items(storage, "run", limit=2)

    assert [(one["id"], one["content"]) for one in page.items] == [("b", "y!"), ("c", "z")]
    assert page.before == "b"
    assert [*(await newest_items(storage, "run", limit=9)).items] == [
        *(await all_items(storage, "run", "run"))
    ]


async def test_an_empty_session_is_an_empty_page(storage: Storage, journal: Journal) -> None:
    """There is nothing before it."""
    await begin_chat(storage, journal, "run")

    page = await newest_items(storage, "run", limit=5)

    assert (list(page.items), page.before) == ([], None)


async def test_nothing_stands_before_the_first_item(storage: Storage, journal: Journal) -> None:
    """Whoever asks all the same gets an empty page and no error."""
    await begin_chat(storage, journal, "run", item("a"), item("b"))

    page = await newest_items(storage, "run", limit=5, before="a")

    assert (list(page.items), page.before) == ([], None)


@pytest.mark.parametrize("before", ["never", "", "of-the-second"])
async def test_an_item_that_the_session_does_not_have_is_unknown(
    storage: Storage, journal: Journal, before: str
) -> None:
    """An item of another session is as unknown as none."""
    second = [said(AgentSessionCreated(data={}), "second"), said(item("of-the-second"), "second")]
    await begin_chat(storage, journal, "run", item("a"))
    await tell(storage, journal, "run", *second)

    with pytest.raises(UnknownItem, match="run"):
        await newest_items(storage, "run", limit=5, before=before)


async def test_two_sessions_of_a_run_have_transcripts_of_their_own(
    storage: Storage, journal: Journal
) -> None:
    """Also if their items have the same ids and stand between each other."""
    await begin_chat(storage, journal, "run", item("a", "first"))
    await tell(
        storage,
        journal,
        "run",
        said(AgentSessionCreated(data={}), "second"),
        said(item("a", "other"), "second"),
        said(item("b", "first"), "run"),
        said(item("c", "other"), "second"),
    )

    for session_id, ids, content in (("run", ["a", "b"], "first"), ("second", ["a", "c"], "other")):
        page = await newest_items(storage, session_id, limit=9)
        assert [one["id"] for one in page.items] == ids
        assert {one["content"] for one in page.items} == {content}


async def test_a_page_of_a_corrupt_item_says_so_and_other_pages_work(
    storage: Storage, journal: Journal
) -> None:
    """Reading touches only the events of the items that are shown."""
    await begin_chat(storage, journal, "run", item("a"), item("b"))
    twice = b'{"item":{"id":"b"}}'
    bad = event(twice, kind="agent-item-appended", session_id="run", item_id="b")
    await plant(storage, "run", bad)

    with pytest.raises(CorruptStream, match="appended twice"):
        await newest_items(storage, "run", limit=1)
    page = await newest_items(storage, "run", limit=1, before="b")
    assert [one["id"] for one in page.items] == ["a"]


async def test_the_newest_page_of_a_long_session_reads_only_its_own_events(
    storage: Storage, journal: Journal
) -> None:
    """A screenful costs a screenful, at the end, in the middle and at the beginning."""
    await _long_chat(storage, journal, LENGTH, portion=500)
    grown = AgentItemTextAppended(item_id=_name(1), field="content", offset=5, text="!")
    await tell(storage, journal, "run", *[grown] * 50)

    for before in (None, _name(LENGTH // 2), _name(PAGE + 2)):
        observed, reading = _observed(storage)
        page = await newest_items(reading, "run", limit=PAGE, before=before)
        last = LENGTH if before is None else int(before.removeprefix("item-")) - 1
        assert [one["id"] for one in page.items] == [
            _name(n) for n in range(last - PAGE + 1, last + 1)
        ]
        assert observed.events_read == PAGE
        assert observed.rows_read <= PAGE + 1


async def test_recording_into_a_long_session_reads_nothing_of_its_past(
    storage: Storage, journal: Journal
) -> None:
    """An append looks up rows by key; only an item that is updated is read."""
    await _long_chat(storage, journal, LENGTH, portion=500)
    observed, reading = _observed(storage)
    watched = Journal(reading, journal._clock)

    await tell(storage, watched, "run", item("fresh"), AgentStatusChanged(status="running"))
    assert observed.events_read == 0

    await tell(storage, watched, "run", AgentItemUpdated(item_id=_name(7), updates={"n": 1}))
    assert observed.events_read == 1
    assert observed.rows_read < 12


@pytest.mark.parametrize("harness", ["sqlite"], indirect=True)
async def test_a_hundred_thousand_items_are_read_page_by_page(
    storage: Storage, journal: Journal
) -> None:
    """The newest hundred are read as if the session had only these."""
    length = 100_000
    await _long_chat(storage, journal, length, portion=10_000)
    observed, reading = _observed(storage)

    page = await newest_items(reading, "run", limit=PAGE)

    assert [one["id"] for one in page.items] == [
        _name(n) for n in range(length - PAGE + 1, length + 1)
    ]
    assert observed.events_read == PAGE
    session = (await storage.get_rows("session", [("run",)])).rows[0]
    assert session["item_count"] == length
