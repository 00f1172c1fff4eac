"""What waits together shares a commit, and nothing else."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from spaced.plugin_api import (
    Appended,
    InsertRow,
    KeyTaken,
    RecordedEvent,
    RowWrite,
    StaleVersion,
    Storage,
    StreamWrite,
)
from spaced.testing.samples import event, read_log, start, write
from spaced.testing.tables import card
from spaced_sqlite import writer as writer_module
from spaced_sqlite.append import EventLog
from spaced_sqlite.storage import SqliteStorage
from tests.integration.sqlite.places import (
    held_writer,
    let_callers_queue,
    on_writer,
    opened,
)


class Commits:
    """Counts the commits of a storage's writer."""

    def __init__(self) -> None:
        self.count = 0

    def watch(self, log: EventLog) -> None:
        """Begin to count."""
        log.conn.set_trace_callback(self._note)

    def _note(self, statement: str) -> None:
        self.count += statement.lower() == "commit"


@pytest.fixture
async def commits(storage: SqliteStorage) -> Commits:
    """The commits of the test's storage, from now on."""
    commits = Commits()
    await on_writer(storage, commits.watch)
    return commits


def queue(
    storage: Storage,
    writes: Sequence[StreamWrite],
    rows: Sequence[RowWrite] = (),
    *,
    bulk: bool = False,
) -> asyncio.Future[Appended]:
    """Begin an append without waiting for it."""
    return asyncio.ensure_future(storage.append(writes, rows, bulk=bulk))


async def test_appends_that_wait_together_share_one_commit(
    storage: SqliteStorage, commits: Commits
) -> None:
    """Twenty callers pay for one sync."""
    async with held_writer(storage):
        appends = [queue(storage, [start(f"run-{n}", count=2)]) for n in range(20)]
        await let_callers_queue()
    appended = await asyncio.gather(*appends)

    assert commits.count == 1
    positions = [event.position for answer in appended for event in answer.events]
    assert positions == list(range(1, 41))


async def test_a_conflict_fails_alone(storage: SqliteStorage, commits: Commits) -> None:
    """One of twenty is stale; the other nineteen are in the same commit, without a gap."""
    async with held_writer(storage):
        appends = [
            queue(storage, [start(f"run-{n}") if n != 7 else write("run-7", 5, event())])
            for n in range(20)
        ]
        await let_callers_queue()
    outcomes = await asyncio.gather(*appends, return_exceptions=True)

    assert commits.count == 1
    kept = [number for number, outcome in enumerate(outcomes) if isinstance(outcome, Appended)]
    assert kept == [number for number in range(20) if number != 7]
    assert isinstance(outcomes[7], StaleVersion)
    assert [event.position for event in await read_log(storage)] == list(range(1, 20))


async def test_a_taken_key_undoes_all_that_its_append_wrote(storage: SqliteStorage) -> None:
    """Its events come before its rows, and must go again, names and positions with them."""
    async with held_writer(storage):
        first = queue(storage, [start("run-1")], [InsertRow(table="card", row=card("a"))])
        second = queue(
            storage,
            [start("run-2", count=3)],
            [
                InsertRow(table="card", row=card("b"), text={"content": "unwritten"}),
                InsertRow(table="card", row=card("a")),
            ],
        )
        third = queue(storage, [start("run-3"), start("run-2")])
        await let_callers_queue()
    outcomes = await asyncio.gather(first, second, third, return_exceptions=True)

    assert isinstance(outcomes[1], KeyTaken)
    assert [(e.position, e.stream) for e in await read_log(storage)] == [
        (1, "run-1"),
        (2, "run-3"),
        (3, "run-2"),
    ]
    assert (await storage.get_rows("card", [("b",)])).rows == []
    assert (await storage.search("card", "unwritten", limit=5)).keys == []


async def test_two_writers_of_one_stream_in_a_group_are_told_apart(
    storage: SqliteStorage,
) -> None:
    """Both believe the stream is empty; the first of them is right."""
    async with held_writer(storage):
        appends = [queue(storage, [start("run-1")]) for _ in range(3)]
        await let_callers_queue()
    outcomes = await asyncio.gather(*appends, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [Appended, StaleVersion, StaleVersion]


async def test_each_group_is_announced_once_in_order(storage: SqliteStorage) -> None:
    """Followers get the events of a commit in one piece, before the callers get their answers."""
    batches: list[Sequence[RecordedEvent]] = []
    answered: list[bool] = []
    storage.on_committed = batches.append
    async with held_writer(storage):
        appends = [queue(storage, [start(f"run-{n}")]) for n in range(10)]
        for append in appends:
            append.add_done_callback(lambda _: answered.append(bool(batches)))
        await let_callers_queue()
    await asyncio.gather(*appends)

    assert [[event.position for event in batch] for batch in batches] == [list(range(1, 11))]
    assert all(answered)


async def test_a_group_that_fails_is_tried_one_by_one(storage: SqliteStorage) -> None:
    """A fault that is nobody's conflict fails the one append that causes it and no other."""

    def break_one(log: EventLog) -> None:
        log.conn.create_function("fault", 0, _fail)
        log.conn.execute(
            "create temp trigger fault before insert on main.event when new.body = x'62'"
            " begin select fault(); end"
        )

    await on_writer(storage, break_one)
    async with held_writer(storage):
        appends = [
            queue(storage, [write(f"run-{n}", 0, event(b"b" if n == 2 else b"{}"))])
            for n in range(5)
        ]
        await let_callers_queue()
    outcomes = await asyncio.gather(*appends, return_exceptions=True)

    assert [isinstance(outcome, Appended) for outcome in outcomes] == [
        True,
        True,
        False,
        True,
        True,
    ]
    assert [event.position for event in await read_log(storage)] == [1, 2, 3, 4]


def _fail() -> None:
    raise RuntimeError("a fault")


async def test_a_group_is_bounded_by_count(
    storage: SqliteStorage, commits: Commits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long queue must not make the first one in it wait for the last."""
    monkeypatch.setattr(writer_module, "MOST_APPENDS_IN_GROUP", 4)
    async with held_writer(storage):
        appends = [queue(storage, [start(f"run-{n}")]) for n in range(10)]
        await let_callers_queue()
    await asyncio.gather(*appends)

    assert commits.count == 3


async def test_a_group_is_bounded_by_bytes(storage: SqliteStorage, commits: Commits) -> None:
    """Five times three megabytes are three commits of at most eight."""
    large = event(b'{"x":"%s"}' % (b"x" * 3_000_000))
    async with held_writer(storage):
        appends = [queue(storage, [write(f"run-{n}", 0, large)]) for n in range(5)]
        await let_callers_queue()
    await asyncio.gather(*appends)

    assert commits.count == 3


async def test_bulk_appends_let_others_go_first(storage: SqliteStorage, commits: Commits) -> None:
    """Three bulk appends were there before; still the plain ones that wait are written first."""
    async with held_writer(storage):
        bulk = [queue(storage, [start(f"bulk-{n}")], bulk=True) for n in range(3)]
        plain = [queue(storage, [start(f"run-{n}")]) for n in range(3)]
        await let_callers_queue()
    await asyncio.gather(*bulk, *plain)

    streams = [event.stream for event in await read_log(storage)]
    assert streams == ["run-0", "run-1", "run-2", "bulk-0", "bulk-1", "bulk-2"]
    assert commits.count == 4


async def test_a_plain_append_goes_between_two_bulk_ones(storage: SqliteStorage) -> None:
    """What comes while bulk work runs waits for one piece of it, not for all."""
    async with held_writer(storage):
        bulk = [queue(storage, [start(f"bulk-{n}")], bulk=True) for n in range(20)]
        await let_callers_queue()
    await bulk[0]
    await storage.append([start("run-1")])
    await asyncio.gather(*bulk)

    assert [event.stream for event in await read_log(storage)][-1] != "run-1"


async def test_bulk_work_does_not_wait_for_ever(
    storage: SqliteStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under an endless stream of plain appends it still gets its turns."""
    monkeypatch.setattr(writer_module, "MOST_APPENDS_IN_GROUP", 1)
    async with held_writer(storage):
        bulk = queue(storage, [start("bulk")], bulk=True)
        plain = [queue(storage, [start(f"run-{n}")]) for n in range(100)]
        await let_callers_queue()
    await asyncio.gather(bulk, *plain)

    streams = [event.stream for event in await read_log(storage)]
    assert 1 <= streams.index("bulk") < 100


async def test_cancelled_callers_take_nothing_with_them(
    storage: SqliteStorage, commits: Commits
) -> None:
    """What was queued happens exactly once, whoever stopped waiting for it."""
    async with held_writer(storage):
        appends = [queue(storage, [start(f"run-{n}")]) for n in range(6)]
        await let_callers_queue()
        for append in appends[::2]:
            append.cancel()
        await let_callers_queue()
    outcomes = await asyncio.gather(*appends, return_exceptions=True)

    assert [isinstance(outcome, Appended) for outcome in outcomes] == [False, True] * 3
    assert commits.count == 1
    assert [event.stream for event in await read_log(storage)] == [f"run-{n}" for n in range(6)]


async def test_a_refusal_whose_caller_is_gone_is_forgotten(storage: SqliteStorage) -> None:
    """Nobody hears of it, also not the log of the event loop."""
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    async with held_writer(storage):
        append = queue(storage, [write("run-1", 9, event())])
        await let_callers_queue()
        append.cancel()
        await let_callers_queue()
    await storage.append([start("run-1")])

    assert append.cancelled()
    assert complaints == []


async def test_another_process_can_write_between_two_appends(
    storage: SqliteStorage, folder: Path
) -> None:
    """Positions and versions are read from the file each time, so nothing is written twice."""
    await storage.append([start("run-1")])
    async with opened(folder) as second:
        await second.append([write("run-1", 1, event())])
        with pytest.raises(StaleVersion):
            await storage.append([write("run-1", 1, event())])
        await storage.append([write("run-1", 2, event())])

    assert [event.position for event in await read_log(storage)] == [1, 2, 3]
