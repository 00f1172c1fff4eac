"""The doctor names every way in which rows and log can disagree, and nothing else."""

from typing import cast

import pytest

from spaced.domain.events.ask import QuestionAsked
from spaced.domain.events.profile import ProfileDefined
from spaced.domain.events.prompt import PromptAdmitted
from spaced.domain.events.run import RunUpdated
from spaced.domain.events.transcript import AgentItemUpdated, AgentStatusChanged
from spaced.domain.events.turn import ExecutionOpened, TurnStarted
from spaced.domain.profile import Profile
from spaced.engine.doctor import Finding, examine
from spaced.engine.journal import Journal
from spaced.log.read_models.catalogue import TABLES
from spaced.log.record import NewEvent
from spaced.log.table import DeleteRow, Key, PutRow, Row
from spaced.storage.protocol import Storage
from spaced.testing.samples import event
from tests.integration.journal.observed_storage import ObservedStorage
from tests.integration.journal.telling import (
    CREATED,
    begin_chat,
    findings,
    item,
    plant,
    statements,
    tell,
)
from tests.unit.log.stories import said

PROFILE = ProfileDefined(profile=Profile(name="P", agent_name="a", runtime="acp"))
UNFINISHED = (
    PromptAdmitted(
        prompt_id="msg",
        parts=(),
        delivery="queue",
        address={"kind": "session", "id": "run"},
        origin="person",
        held=False,
        rank=1,
        queue_index=0,
    ),
    TurnStarted(turn_id="turn", prompt_ids=("msg",)),
    ExecutionOpened(execution_id="exe", runtime="scripted", generation=1),
    QuestionAsked(ask_id="ask", questions=()),
    item("open", stream_status="streaming"),
)


async def _row(storage: Storage, table: str, *key: str) -> Row:
    return (await storage.get_rows(table, [key])).rows[0]


async def _change(storage: Storage, table: str, key: Key, **columns: str | int | None) -> None:
    row = (await storage.get_rows(table, [key])).rows[0]
    await storage.append([], [PutRow(table=table, row={**row, **columns})])


async def _two_chats(storage: Storage, journal: Journal) -> None:
    await begin_chat(storage, journal, "run", item("a", "alpha"), item("b"))
    await begin_chat(storage, journal, "other", item("a"))
    await tell(storage, journal, "prof", said(PROFILE))


async def test_a_healthy_log_has_no_findings(storage: Storage, journal: Journal) -> None:
    """Neither an empty one nor one with some streams."""
    assert await findings(storage) == []
    await _two_chats(storage, journal)

    assert await findings(storage) == []


async def test_events_of_a_newer_program_are_no_finding(storage: Storage, journal: Journal) -> None:
    """Unknown kinds are skipped, also in streams that hold nothing else."""
    await _two_chats(storage, journal)
    await plant(storage, "run", event(b"?", kind="tomorrow", session_id="run", item_id="a"))
    await plant(storage, "tomorrow-1", event(b"?", kind="tomorrow"))

    assert await findings(storage) == []


@pytest.mark.parametrize(
    ("table", "key", "stream"),
    [
        ("run", ("run",), "run"),
        ("session", ("run",), "run"),
        ("item", ("run", "a"), "run"),
        ("profile", ("prof",), "prof"),
    ],
)
async def test_a_row_that_is_gone_is_missing(
    storage: Storage, journal: Journal, table: str, key: Key, stream: str
) -> None:
    """Its table and key are named, so that a person can look."""
    await _two_chats(storage, journal)
    await storage.append([], [DeleteRow(table=table, key=key)])

    detail = f"the row {'/'.join(map(str, key))} of {table} is missing"
    assert await findings(storage) == [
        Finding(kind="missing-row", stream=stream, detail=detail, table=table, key=key)
    ]


@pytest.mark.parametrize("table", ["prompt", "turn", "ask", "execution", "open_item"])
async def test_what_is_unfinished_and_has_no_row_is_missing(
    storage: Storage, journal: Journal, table: str
) -> None:
    """A recovery would pass it over; the doctor does not."""
    await begin_chat(storage, journal, "run", *UNFINISHED)
    (row,) = (await storage.list_rows(table)).rows
    await storage.append([], [DeleteRow(table=table, key=TABLES[table].key_of(row))])

    assert [(f.kind, f.table) for f in await findings(storage)] == [("missing-row", table)]


@pytest.mark.parametrize(
    ("table", "key", "columns"),
    [
        ("session", ("run",), {"item_count": 9, "status": "x"}),
        ("session", ("run",), {"directory": "/elsewhere"}),
        ("item", ("run", "b"), {"ordinal": 1}),
        ("run", ("run",), {"damage": "made up"}),
    ],
    ids=repr,
)
async def test_a_row_that_was_changed_differs_in_named_columns(
    storage: Storage, journal: Journal, table: str, key: Key, columns: dict[str, str | int | None]
) -> None:
    """The columns are named in order, their values are not: they may be private."""
    await _two_chats(storage, journal)
    await _change(storage, table, key, **columns)

    row, names = "/".join(map(str, key)), ", ".join(columns)
    detail = f"the row {row} of {table} differs from the log in {names}"
    assert await findings(storage) == [
        Finding(kind="different-row", stream="run", detail=detail, table=table, key=key)
    ]


async def test_a_row_that_follows_from_no_event_of_its_stream_is_extra(
    storage: Storage, journal: Journal
) -> None:
    """The other rows of the stream are fine."""
    await _two_chats(storage, journal)
    row = {**await _row(storage, "item", "run", "a"), "item_id": "ghost"}
    await storage.append([], [PutRow(table="item", row=row)])

    assert await findings(storage) == [
        Finding(
            kind="extra-row",
            stream="run",
            detail="the row run/ghost of item follows from no event",
            table="item",
            key=("run", "ghost"),
        )
    ]


async def test_a_row_of_a_stream_that_never_was_is_extra(
    storage: Storage, journal: Journal
) -> None:
    """It is found although no stream leads to it."""
    await _two_chats(storage, journal)
    row = {**await _row(storage, "run", "run"), "id": "ghost", "stream": "ghost"}
    await storage.append([], [PutRow(table="run", row=row)])

    assert await findings(storage) == [
        Finding(
            kind="extra-row",
            stream="ghost",
            detail="the row ghost of run follows from no event",
            table="run",
            key=("ghost",),
        )
    ]


async def test_a_row_that_moved_to_another_stream_is_missing_here_and_extra_there(
    storage: Storage, journal: Journal
) -> None:
    """Both ends of the mistake are named."""
    await _two_chats(storage, journal)
    await _change(storage, "item", ("run", "a"), stream="other")

    assert {(f.kind, f.stream, f.table, f.key) for f in await findings(storage)} == {
        ("missing-row", "run", "item", ("run", "a")),
        ("extra-row", "other", "item", ("run", "a")),
    }


async def test_a_corrupt_stream_is_named_with_version_and_reason(
    storage: Storage, journal: Journal
) -> None:
    """Its run's row lacks the mark until it is rebuilt; other streams are not mentioned."""
    await _two_chats(storage, journal)
    bad = event(b'{"status":7}', kind="agent-status-changed", session_id="run")
    await plant(storage, "run", bad)

    damaged, different = await findings(storage)

    assert (damaged.kind, damaged.stream, damaged.table) == ("damaged-stream", "run", None)
    assert damaged.detail.startswith("run is damaged at version 5: ")
    assert different == Finding(
        kind="different-row",
        stream="run",
        detail="the row run of run differs from the log in damage",
        table="run",
        key=("run",),
    )


@pytest.mark.parametrize(
    "bad",
    [
        event(b"{}", kind="run-created"),
        event(b'{"item":{"id":"a"}}', kind="agent-item-appended", session_id="run", item_id="a"),
        event(
            b'{"item_id":"z","updates":{}}',
            kind="agent-item-updated",
            session_id="run",
            item_id="z",
        ),
        event(b'{"item":{"id":"z"}}', kind="agent-item-upserted", session_id="run", item_id="y"),
        event(b'{"item":{"id":"z"}}', kind="agent-item-upserted", session_id="run"),
        event(b"{}", kind="session-parked", session_id="never-created"),
        event(
            b'{"item":{"id":"z","deep":' + b"[" * 800 + b"]" * 800 + b"}}",
            kind="agent-item-upserted",
            session_id="run",
            item_id="z",
        ),
    ],
    ids=lambda bad: f"{bad.kind} {bad.item_id}",
)
async def test_whatever_is_corrupt_the_examination_goes_on(
    storage: Storage, journal: Journal, bad: NewEvent
) -> None:
    """The streams before and behind it are examined as ever."""
    await _two_chats(storage, journal)
    await begin_chat(storage, journal, "zebra")
    await plant(storage, "run", bad)
    await storage.append([], [DeleteRow(table="run", key=("zebra",))])

    found = await findings(storage)

    assert [(f.kind, f.stream) for f in found] == [
        ("damaged-stream", "run"),
        ("different-row", "run"),
        ("missing-row", "zebra"),
    ]


async def test_several_findings_of_several_streams_are_all_named(
    storage: Storage, journal: Journal
) -> None:
    """One does not hide another."""
    await _two_chats(storage, journal)
    await _change(storage, "session", ("run",), status="x")
    await storage.append(
        [],
        [DeleteRow(table="item", key=("other", "a")), DeleteRow(table="item", key=("run", "b"))],
    )

    assert [(f.kind, f.stream, f.table) for f in await findings(storage)] == [
        ("missing-row", "other", "item"),
        ("missing-row", "run", "item"),
        ("different-row", "run", "session"),
    ]


async def test_what_is_recorded_during_the_examination_is_no_finding(
    storage: Storage, journal: Journal
) -> None:
    """The doctor may look while the daemon works: it follows a stream that grows."""
    await _two_chats(storage, journal)
    observed = ObservedStorage(storage)
    left = list(range(25))

    async def work() -> None:
        """Before every read, something is recorded in a stream of its own or in an old one."""
        if not left:
            return
        number = left.pop()
        await tell(
            storage,
            journal,
            "run",
            *statements(
                "run",
                item(f"new-{number}"),
                AgentItemUpdated(item_id="a", updates={"n": number}),
                AgentStatusChanged(status=f"status-{number}"),
                RunUpdated(title=f"title-{number}"),
            ),
        )
        await begin_chat(storage, journal, f"run-{number}", item("a"))
        await tell(storage, journal, f"a-{number}", said(CREATED))

    observed.before_read = work
    found = [finding async for finding in examine(cast("Storage", observed))]

    assert left == []
    assert found == []
    assert await findings(storage) == []
