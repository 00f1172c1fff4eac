"""Lists of sessions: what they show, in which order, and how their pages follow each other."""

import base64
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaced.clock import Timestamp
from spaced.domain.events.run import RunCreated
from spaced.domain.events.transcript import AgentSessionCreated
from spaced.engine.doctor import rebuild
from spaced.engine.journal import Entry, Journal, Statement
from spaced.engine.session_lists import ListCursor, ListedSession, SessionLists
from spaced.log.read_models.catalogue import TABLES
from spaced.log.read_models.runs import RUN
from spaced.refusals import BadCursor, InvalidRequest, UnknownSession
from spaced.storage.protocol import Storage
from spaced.testing.fake_clock import FakeClock
from spaced.testing.samples import event
from spaced.testing.storage_harness import MemoryStorageHarness
from tests.integration.engine.house import House, Houses, gate, say
from tests.integration.journal.telling import plant

ECHO = {"do": "echo"}


def _ids(entries: Iterable[ListedSession]) -> list[str]:
    return [entry.session.id for entry in entries]


async def _all(lists: SessionLists, *, limit: int = 2, **conditions: Any) -> list[str]:
    """Return the ids of all pages."""
    page = await lists.page(limit=limit, **conditions)
    found = _ids(page.entries)
    while page.next is not None:
        page = await lists.page(limit=limit, after=ListCursor.read(str(page.next)), **conditions)
        found += _ids(page.entries)
    return found


async def _open(
    storage: Storage,
    session_id: str,
    *,
    at: int,
    directory: str = "/project",
    profile_id: str = "prof",
    follow_up: str | None = None,
) -> None:
    """Record a chat that changed last at a time, perhaps with a second session."""
    journal = Journal(storage, FakeClock())
    created = RunCreated(
        workflow_id="wf", workflow_version=1, context={"agent_session": True}, directory=directory
    )
    opened = AgentSessionCreated(data={"agent_id": profile_id})
    names = [session_id, *([follow_up] if follow_up else [])]
    told = [Statement(event=created, created_at=Timestamp(0))]
    told += [Statement(event=opened, session_id=n, created_at=Timestamp(at)) for n in names]
    await journal.append(Entry(stream=session_id, expected_version=0, statements=told))


async def test_a_list_begins_with_what_changed_last(house: House) -> None:
    """Whatever the order in which sessions were created."""
    chats = []
    for _ in range(3):
        chats.append(await house.chat([ECHO]))
        house.clock.advance(milliseconds=1000)
    await house.turn(chats[0])

    page = await house.engine.lists.page()

    assert _ids(page.entries) == [chats[0], chats[2], chats[1]]
    assert page.next is None


async def test_an_entry_holds_what_a_list_shows(house: House) -> None:
    """The session, and what of its run belongs to it."""
    chat = await house.chat([ECHO], request={"title": "Mine"})
    await house.engine.sessions.complete(chat)
    follow_up = (await house.send(chat, "more")).session_id
    await house.idle(follow_up)

    entries = {entry.session.id: entry for entry in (await house.engine.lists.page()).entries}

    assert entries.keys() == {chat, follow_up}
    assert (entries[chat].is_primary, entries[follow_up].is_primary) == (True, False)
    assert entries[chat].session.title == "Mine"
    for entry in entries.values():
        assert entry.directory == str(house.workplace)
        assert (entry.run.id, entry.run.workflow_id) == (chat, "agent-chat")
        assert (entry.run.is_archived, entry.damage) == (False, None)
        assert await house.engine.lists.get(entry.session.id) == entry


async def test_a_list_is_narrowed_by_all_conditions(house: House) -> None:
    """Each alone and together; a folder or profile that nobody has gives nothing."""
    busy = await house.chat([gate()])
    idle = await house.chat([ECHO])
    archived = await house.chat([ECHO])
    await house.engine.sessions.archive(archived)
    await house.send(busy, "go")
    await house.reached()
    profile_id = (await house.session(idle)).agent_id
    folder = str(house.workplace)

    async def found(**conditions: Any) -> list[str]:
        return _ids((await house.engine.lists.page(**conditions)).entries)

    assert await found(status="running") == [busy]
    assert await found(archived=True) == [archived]
    assert sorted(await found(directory=folder)) == sorted([busy, idle])
    assert await found(profile_id=profile_id, directory=folder, status="idle") == [idle]
    assert await found(profile_id=profile_id, status="running") == []
    for nothing in ({"directory": "/nowhere"}, {"profile_id": "\ud800"}, {"status": "failed"}):
        assert await found(**nothing) == []


async def test_a_deleted_session_is_never_listed(house: House) -> None:
    """Not before it is removed for good, and not after."""
    chat, purged = await house.chat([ECHO]), await house.chat([ECHO])
    await house.engine.deletions.delete(chat)
    await house.engine.deletions.delete(purged, now=True)

    assert (await house.engine.lists.page()).entries == []
    assert (await house.engine.lists.page(archived=True)).entries == []
    for session_id in (chat, purged, "ses_nobody", "", "\ud800", "x" * 5000):
        with pytest.raises(UnknownSession):
            await house.engine.lists.get(session_id)


async def test_a_run_that_goes_between_two_reads_is_left_out(house: House) -> None:
    """The sessions were found, and a moment later there is nothing of them any more."""
    chat, other = await house.chat([ECHO]), await house.chat([ECHO])

    class GoesMeanwhile:
        def __getattr__(self, name: str) -> Any:
            return getattr(house.storage, name)

        async def get_rows(self, table: str, keys: Sequence[Any]) -> Any:
            if table == RUN.name and (chat,) in keys:
                await house.engine.deletions.delete(chat, now=True)
            return await house.storage.get_rows(table, keys)

    page = await SessionLists(GoesMeanwhile()).page()

    assert _ids(page.entries) == [other]


async def test_a_damaged_session_is_listed_with_its_damage(house: House) -> None:
    """It can be found and exported; only its stream cannot be read further."""
    chat, other = await house.chat([say("x")]), await house.chat([ECHO])
    await plant(house.storage, chat, event(b"[]", kind="agent-status-changed", session_id=chat))
    await rebuild(house.storage)

    entries = {entry.session.id: entry for entry in (await house.engine.lists.page()).entries}

    assert entries[other].damage is None
    assert str(entries[chat].damage).startswith(f"{chat} is damaged at version ")
    assert (await house.engine.lists.get(chat)).damage == entries[chat].damage


async def test_a_list_reads_no_more_than_its_page(house: House) -> None:
    """Also one that is narrowed by folder or profile: SQLite is never asked to sort."""
    for number in range(30):
        await _open(house.storage, f"ses_{number}", at=number, profile_id=f"prof_{number % 3}")
    lists = house.engine.lists

    assert len(await _all(lists, limit=7)) == 30
    assert await _all(lists, limit=4, profile_id="prof_1") == [
        f"ses_{number}" for number in range(28, 0, -3)
    ]
    table = house.storage._tables["session"]  # type: ignore[attr-defined]
    for order, where in {
        "latest": {"visibility": "listed"},
        "latest_in_directory": {"visibility": "listed", "directory": "/project"},
        "latest_of_agent": {"visibility": "listed", "agent_id": "prof_1"},
    }.items():
        for after in (None, {**where, "id": "a", "updated_at": 1}):
            sql, values = table.list_statement(where=where, order=order, after=after, limit=2)
            plan = await house.storage._readers.read(  # type: ignore[attr-defined]
                lambda reader, sql=sql, values=values: reader.conn.execute(
                    f"explain query plan {sql}", values
                ).fetchall()
            )
            assert [line[3].split(" (")[0] for line in plan] == [
                f"SEARCH row_session USING INDEX row_session:by:{order}"
            ]


@pytest.mark.parametrize("limit", [0, -1, 501, 10**30])
async def test_a_page_has_a_sensible_size(house: House, limit: int) -> None:
    """Nobody gets all sessions at once."""
    with pytest.raises(InvalidRequest):
        await house.engine.lists.page(limit=limit)


async def test_what_is_listed_outlives_a_restart(houses: Houses) -> None:
    """Rows and their orders are on the disk."""
    house = await houses.open()
    chat = await house.chat([ECHO])

    house = await houses.restart(house)

    assert _ids((await house.engine.lists.page()).entries) == [chat]
    assert list((await house.storage.describe()).unfilled_tables) == []


def _encoded(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "!!!!", "é", "\ud800", "\x00", "====", "a" * 5000, "WyJzZXMiLDFd" * 4000),
        *("WyJzZXMiLDFd=", "WyJzZXMiLDFd\n", " WyJzZXMiLDFd", _encoded(b'["ses", 1]')),
        *map(_encoded, (b"[]", b"{}", b"null", b'"ses"', b'["ses"]', b'["ses",1,2]', b'["ses",1')),
        *map(_encoded, (b'[1,"ses"]', b'["ses",1.0]', b'["ses",true]', b'["ses",null]', b"\xff")),
        *map(_encoded, (b'["ses",9223372036854775808]', b'["ses",-9223372036854775809]')),
        *map(_encoded, (b'["\\ud800",1]', b"[" * 900, b'["ses",1' + b"0" * 900 + b"]")),
        *(None, 5, b"WyJzZXMiLDFd", ["WyJzZXMiLDFd"]),
    ],
)
def test_what_is_no_cursor_is_refused(text: Any) -> None:
    """With the same answer, however it is broken."""
    with pytest.raises(BadCursor):
        ListCursor.read(text)


@given(text=st.text(max_size=60) | st.binary(max_size=60).map(_encoded))
def test_any_text_is_a_cursor_or_refused(text: str) -> None:
    """And one that is read is written as it was."""
    with suppress(BadCursor):
        assert str(ListCursor.read(text)) == text


@given(name=st.text(max_size=40), at=st.integers(-(2**63), 2**63 - 1))
def test_a_cursor_comes_back_as_it_was(name: str, at: int) -> None:
    """Also with ids and times that hardly anybody has."""
    cursor = ListCursor(id=name, updated_at=at)

    assert ListCursor.read(str(cursor)) == cursor


_NUMBERS = st.integers(0, 5)
_SESSIONS = st.tuples(_NUMBERS, st.sampled_from(["/a", "/b"]), st.sampled_from(["p", "q"]))
_CONDITIONS = st.fixed_dictionaries(
    {}, optional={"directory": st.just("/a"), "profile_id": st.just("p")}
)


@settings(max_examples=60, deadline=None)
@given(
    before=st.lists(_SESSIONS, max_size=12),
    meanwhile=st.lists(st.lists(_SESSIONS, max_size=3), max_size=6),
    limit=st.integers(1, 4),
    conditions=_CONDITIONS,
)
async def test_pages_hold_all_that_was_there_once_and_in_order(
    before: list[tuple[int, str, str]],
    meanwhile: list[list[tuple[int, str, str]]],
    limit: int,
    conditions: dict[str, str],
) -> None:
    """Although others are created between the pages, before and behind where the reader is."""
    with tempfile.TemporaryDirectory() as folder:
        harness = MemoryStorageHarness(Path(folder))
        storage = await harness.open(tuple(TABLES.values()))
        lists = SessionLists(storage)
        made: dict[str, tuple[int, str, str]] = {}

        async def create(sessions: Iterable[tuple[int, str, str]]) -> None:
            for at, directory, profile_id in sessions:
                name = f"ses_{(len(made) * 7919) % 1000:03}"
                made[name] = (at, directory, profile_id)
                await _open(storage, name, at=at, directory=directory, profile_id=profile_id)

        await create(before)
        wanted = [
            name
            for name, (_, directory, profile_id) in made.items()
            if conditions.get("directory", directory) == directory
            and conditions.get("profile_id", profile_id) == profile_id
        ]
        page = await lists.page(limit=limit, **conditions)  # type: ignore[arg-type]
        found = _ids(page.entries)
        rest = iter(meanwhile)
        while page.next is not None:
            await create(next(rest, []))
            after = ListCursor.read(str(page.next))
            page = await lists.page(limit=limit, after=after, **conditions)  # type: ignore[arg-type]
            found += _ids(page.entries)
        await harness.close()

    assert len(set(found)) == len(found)
    assert [name for name in found if name in wanted] == sorted(
        wanted, key=lambda name: (-made[name][0], name)
    )
    assert found == sorted(found, key=lambda name: (-made[name][0], name))
