"""What the journal refuses, it refuses as a whole; of two writers one wins."""

import asyncio

import pytest

from spaced.clock import Timestamp
from spaced.domain.events.event import Event
from spaced.domain.events.run import RunCancelled, RunUpdated
from spaced.domain.events.session import SessionMadePrimary, SessionParked
from spaced.domain.events.system import GrantRecorded
from spaced.domain.events.transcript import (
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentSessionCreated,
    AgentStatusChanged,
)
from spaced.engine.doctor import rebuild
from spaced.engine.journal import Entry, Journal, Statement
from spaced.errors import ConflictingWrite, CorruptStream, InvalidBody, KeyTaken, StaleVersion
from spaced.storage.protocol import Storage
from spaced.testing.samples import event
from tests.integration.journal.telling import (
    CREATED,
    OPENED,
    begin_chat,
    derived_rows,
    findings,
    item,
    plant,
    statements,
    tell,
    version_of,
    whole_log,
)
from tests.unit.log.stories import said

GRANT = GrantRecorded(grant_id="g", profile_id="p", directory="/d", tool_kind="edit", match={})


async def _state(storage: Storage) -> tuple[object, object]:
    return await whole_log(storage), await derived_rows(storage)


@pytest.mark.parametrize(
    "refused",
    [
        said(item("a"), "run"),
        said(AgentItemUpdated(item_id="b", updates={}), "run"),
        said(AgentItemTextAppended(item_id="b", field="content", offset=0, text="x"), "run"),
        said(AgentItemUpserted(item={"id": 5}), "run"),
        said(AgentItemUpserted(item={}), "run"),
        said(CREATED),
        said(AgentStatusChanged(status="idle"), "never-created"),
        said(item("a"), "never-created"),
        said(SessionParked(), "never-created"),
    ],
    ids=lambda statement: f"{statement.event.kind} of {statement.session_id}",
)
async def test_a_statement_that_contradicts_the_state_writes_nothing(
    storage: Storage, journal: Journal, refused: Statement
) -> None:
    """Neither it nor what was said before it in the same append."""
    await begin_chat(storage, journal, "run", item("a", "alpha"))
    before = await _state(storage)

    with pytest.raises(CorruptStream):
        await tell(storage, journal, "run", said(item("fresh"), "run"), refused)

    assert await _state(storage) == before


async def test_a_run_begins_with_its_creation(storage: Storage, journal: Journal) -> None:
    """Nothing can be said of a run that does not exist."""
    with pytest.raises(CorruptStream, match="run-created"):
        await tell(storage, journal, "run", OPENED)

    assert await whole_log(storage) == []


async def test_contradictions_within_one_append_are_seen(
    storage: Storage, journal: Journal
) -> None:
    """Each statement is judged after the ones before it."""
    await begin_chat(storage, journal, "run")
    before = await _state(storage)

    with pytest.raises(CorruptStream, match="appended twice"):
        await tell(storage, journal, "run", item("a"), item("a"))

    assert await _state(storage) == before


async def test_an_item_can_begin_grow_and_end_in_one_append(
    storage: Storage, journal: Journal
) -> None:
    """Later statements see what earlier ones of the same append did."""
    await begin_chat(
        storage,
        journal,
        "run",
        item("a", stream_status="streaming"),
        AgentItemTextAppended(item_id="a", field="content", offset=0, text="pears"),
        AgentItemUpdated(item_id="a", updates={"stream_status": "complete"}),
    )

    assert (await storage.search("item", "pears", limit=9)).keys == [("run", "a")]
    assert await findings(storage) == []


@pytest.mark.parametrize(
    "unstorable",
    [
        AgentStatusChanged(status="\ud800"),
        AgentItemUpdated(item_id="a", updates={"n": float("nan")}),
        item("b", "\udc00"),
    ],
    ids=lambda one: one.kind,
)
async def test_what_json_cannot_hold_writes_nothing(
    storage: Storage, journal: Journal, unstorable: Event
) -> None:
    """The whole append is refused."""
    await begin_chat(storage, journal, "run", item("a"))
    before = await _state(storage)

    with pytest.raises(InvalidBody):
        await tell(storage, journal, "run", AgentStatusChanged(status="idle"), unstorable)

    assert await _state(storage) == before


@pytest.mark.parametrize("expected", [0, 1, 3, 99])
async def test_a_stale_version_writes_nothing(
    storage: Storage, journal: Journal, expected: int
) -> None:
    """Too old or too new: the decision was made on another state."""
    await begin_chat(storage, journal, "run")
    before = await _state(storage)
    late = Entry(
        stream="run",
        expected_version=expected,
        statements=statements("run", AgentStatusChanged(status="running")),
    )

    with pytest.raises(StaleVersion):
        await journal.append(late)

    assert await _state(storage) == before


async def test_one_stale_stream_refuses_the_others_of_the_append(
    storage: Storage, journal: Journal
) -> None:
    """All or nothing also over several streams."""
    await begin_chat(storage, journal, "one")
    await begin_chat(storage, journal, "two")
    before = await _state(storage)
    changed = AgentStatusChanged(status="running")

    with pytest.raises(StaleVersion):
        await journal.append(
            Entry(stream="one", expected_version=2, statements=statements("one", changed)),
            Entry(stream="two", expected_version=1, statements=statements("two", changed)),
        )

    assert await _state(storage) == before


RACES: dict[str, tuple[int, list[Event]]] = {
    "a run is created": (0, [CREATED, OPENED]),
    "the same item is appended": (2, [item("b")]),
    "the status changes": (2, [AgentStatusChanged(status="running")]),
    "the run is renamed": (2, [RunUpdated(title="T")]),
}


@pytest.mark.parametrize("name", RACES)
async def test_of_two_writers_that_decided_on_the_same_version_one_wins(
    storage: Storage, journal: Journal, name: str
) -> None:
    """The other one meets a conflict, never an alarm about a corrupt stream."""
    version, events = RACES[name]
    if version:
        await begin_chat(storage, journal, "run")
    entry = Entry(stream="run", expected_version=version, statements=statements("run", *events))

    outcomes = await asyncio.gather(
        *(journal.append(entry) for _ in range(2)), return_exceptions=True
    )

    lost = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert len(lost) == 1
    assert isinstance(lost[0], ConflictingWrite)
    assert await version_of(storage, "run") == version + len(events)
    assert await findings(storage) == []


async def test_a_late_writer_meets_a_conflict_although_its_item_exists_by_now(
    storage: Storage, journal: Journal
) -> None:
    """What it contradicts was written by somebody else after it had decided."""
    await begin_chat(storage, journal, "run", item("a"))
    late = Entry(stream="run", expected_version=2, statements=statements("run", item("a")))

    with pytest.raises(StaleVersion):
        await journal.append(late)


async def test_a_session_id_is_taken_by_one_run(storage: Storage, journal: Journal) -> None:
    """Another run cannot open a session of that id, and the first one keeps its own."""
    await begin_chat(storage, journal, "one", item("a"))
    before = await derived_rows(storage, "one")
    thief = [said(CREATED), said(AgentSessionCreated(data={"title": "Mine"}), "one")]

    with pytest.raises(KeyTaken):
        await tell(storage, journal, "two", *thief)

    assert await version_of(storage, "two") == 0
    assert await derived_rows(storage, "one") == before


async def test_a_session_id_is_taken_once_within_an_append(
    storage: Storage, journal: Journal
) -> None:
    """Also if both runs are created together."""
    opened = [said(CREATED), said(OPENED, "shared")]

    with pytest.raises(KeyTaken):
        await journal.append(
            Entry(stream="one", expected_version=0, statements=opened),
            Entry(stream="two", expected_version=0, statements=opened),
        )

    assert await whole_log(storage) == []


@pytest.mark.parametrize(
    "foreign",
    [item("b"), AgentStatusChanged(status="failed"), SessionMadePrimary()],
    ids=lambda one: one.kind,
)
async def test_a_run_cannot_speak_about_a_session_of_another_run(
    storage: Storage, journal: Journal, foreign: Event
) -> None:
    """A fold of its stream alone would know nothing of that session."""
    await begin_chat(storage, journal, "one")
    await begin_chat(storage, journal, "two")
    before = await _state(storage)

    with pytest.raises(CorruptStream):
        await tell(storage, journal, "two", said(foreign, "one"))

    assert await _state(storage) == before


async def test_a_run_is_archived_without_touching_a_session_that_has_its_name(
    storage: Storage, journal: Journal
) -> None:
    """A task's run and another run's session may have the same id by accident."""
    await tell(storage, journal, "one", said(CREATED), said(OPENED, "two"))
    await tell(storage, journal, "two", said(CREATED), said(RunUpdated(archived=True)))

    assert (await derived_rows(storage, "one"))["session", ("two",)]["visibility"] == "listed"
    assert await findings(storage) == []


async def test_a_grant_is_recorded_once(storage: Storage, journal: Journal) -> None:
    """A repeat is a conflict, in two appends and in one."""
    with pytest.raises(KeyTaken):
        await tell(storage, journal, "system", GRANT, GRANT)
    await tell(storage, journal, "system", GRANT)
    with pytest.raises(KeyTaken):
        await tell(storage, journal, "system", GRANT)

    assert await version_of(storage, "system") == 1
    assert await findings(storage) == []


async def test_a_run_whose_row_is_marked_as_damaged_takes_nothing_more(
    storage: Storage, journal: Journal
) -> None:
    """Its rows end at the damage; facts behind it would follow from nothing, and hide the mark."""
    await begin_chat(storage, journal, "run")
    await plant(storage, "run", event(b"[]", kind="agent-status-changed", session_id="run"))
    await rebuild(storage)
    before = await _state(storage)

    with pytest.raises(CorruptStream, match="run is damaged at version 3"):
        await tell(storage, journal, "run", RunCancelled())

    assert await _state(storage) == before


async def test_an_append_without_statements_checks_the_version_only(
    storage: Storage, journal: Journal
) -> None:
    """So a caller can make sure that nothing moved."""
    await begin_chat(storage, journal, "run")

    assert (
        await journal.append(Entry(stream="run", expected_version=2, statements=[]))
    ).events == []
    with pytest.raises(StaleVersion):
        await journal.append(Entry(stream="run", expected_version=1, statements=[]))


async def test_a_time_that_is_not_given_is_now(storage: Storage, journal: Journal) -> None:
    """And one that is given is kept, also an earlier one."""
    await begin_chat(storage, journal, "run")
    told = [Statement(event=RunCancelled()), said(RunUpdated(title="T"), at=5)]

    recorded = (await tell(storage, journal, "run", *told)).events

    assert recorded[0].created_at == recorded[0].recorded_at
    assert recorded[1].created_at == Timestamp(5)
