"""Proves what holds while many append at once, and when callers give up."""

import asyncio
from collections.abc import Sequence

from spaced.errors import KeyTaken, StaleVersion, StreamPurged
from spaced.log.record import RecordedEvent
from spaced.log.table import InsertRow
from spaced.storage.protocol import Appended, Storage
from spaced.testing.samples import (
    Job,
    Outcome,
    attempt,
    attempt_at_once,
    event,
    next_turn,
    numbered,
    read_log,
    start,
    write,
)
from spaced.testing.storage_topics.fixtures import StorageFixtures
from spaced.testing.tables import put_card, slot


async def follow(storage: Storage, is_over: asyncio.Event) -> list[RecordedEvent]:
    """Poll the log from the last position seen until nothing more comes."""
    seen: list[RecordedEvent] = []
    while True:
        was_over = is_over.is_set()
        page = await storage.read_all(after=seen[-1].position if seen else 0, limit=7)
        seen.extend(page)
        assert len(seen) < 1000
        if was_over and not page:
            return seen
        await next_turn()


def kinds(outcomes: Sequence[Outcome]) -> list[type[Outcome]]:
    """Return what became of each append."""
    return [type(outcome) for outcome in outcomes]


class ConcurrencyPromises(StorageFixtures):
    """Appends that run at once come out as if they had run one after the other."""

    async def test_appends_to_different_streams_all_succeed(self, storage: Storage) -> None:
        """Nobody stands in anybody's way, and each gets its own answer."""
        jobs: list[Job] = [
            ([start(f"run-{n}", count=2)], [put_card(f"{n}", stream=f"run-{n}")]) for n in range(60)
        ]
        outcomes = await attempt_at_once(storage, jobs)
        for number, outcome in enumerate(outcomes):
            assert isinstance(outcome, Appended)
            assert {e.stream for e in outcome.events} == {f"run-{number}"}
            assert list(outcome.events) == list(await storage.read_stream(f"run-{number}"))
        assert len((await storage.list_rows("card")).rows) == 60

    async def test_one_of_many_writers_to_a_stream_wins(self, storage: Storage) -> None:
        """Exactly one of those who read the same version; all others learn that they are stale."""
        jobs: list[Job] = [
            ([write(f"run-{n % 6}", 0, event(b'{"writer":%d}' % n))], ()) for n in range(24)
        ]
        outcomes = await attempt_at_once(storage, jobs)
        winners = [outcome.events[0] for outcome in outcomes if isinstance(outcome, Appended)]
        assert kinds(outcomes).count(StaleVersion) == 18
        assert sorted(winners, key=lambda e: e.position) == await read_log(storage)
        assert len({e.stream for e in winners}) == 6

    async def test_a_conflict_fails_only_its_own_append(self, storage: Storage) -> None:
        """Each of many appends that wait together gets the outcome it deserves."""
        await storage.append([start("old")], [InsertRow(table="slot", row=slot("taken"))])
        await storage.purge("purged")
        bad: list[tuple[Job, type[Outcome]]] = [
            (([start("x"), start("old")], [put_card("x")]), StaleVersion),
            (([start("x")], [put_card("x"), InsertRow(table="slot", row=slot("taken"))]), KeyTaken),
            (([start("x"), start("purged")], [put_card("x")]), StreamPurged),
            (([start("x"), start("x")], [put_card("x")]), ValueError),
        ]
        jobs: list[Job] = []
        expected: list[type[Outcome]] = []
        for number in range(24):
            jobs.append(([start(f"run-{number}")], [put_card(f"{number}")]))
            job, error = bad[number % 4]
            jobs.append(job)
            expected.extend((Appended, error))
        assert kinds(await attempt_at_once(storage, jobs)) == expected
        assert len(await read_log(storage)) == 25
        assert len((await storage.list_rows("card")).rows) == 24
        assert not await storage.read_stream("x")

    async def test_bulk_appends_and_plain_ones_all_succeed(self, storage: Storage) -> None:
        """Bulk work is neither lost nor torn by what goes first."""
        async with asyncio.TaskGroup() as group:
            tasks = []
            for number in range(40):
                is_bulk = number % 4 == 0
                writes = [start(f"run-{number}", count=50 if is_bulk else 2)]
                rows = [put_card(f"{number}", stream=f"run-{number}")]
                tasks.append(group.create_task(attempt(storage, writes, rows, bulk=is_bulk)))
                if number % 8 == 0:
                    await next_turn()
        assert set(kinds([task.result() for task in tasks])) == {Appended}
        log = await read_log(storage)
        for number in range(40):
            positions = [e.position for e in log if e.stream == f"run-{number}"]
            assert len(positions) == (50 if number % 4 == 0 else 2)
            between = [e for e in log if positions[0] <= e.position <= positions[-1]]
            assert {e.stream for e in between} == {f"run-{number}"}

    async def test_a_bulk_append_is_refused_like_any_other(self, storage: Storage) -> None:
        """It is atomic, and its versions are checked when it is written."""
        await storage.append([start("run-1")])
        writes = [start("run-2", count=9), start("run-1")]
        outcome = await attempt(storage, writes, [put_card("a")], bulk=True)
        assert isinstance(outcome, StaleVersion)
        assert len(await read_log(storage)) == 1
        assert not (await storage.list_rows("card")).rows

    async def test_a_follower_sees_every_event_once(self, storage: Storage) -> None:
        """No position appears behind the back of somebody who has read past it."""
        is_over = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            follower = group.create_task(follow(storage, is_over))
            async with asyncio.TaskGroup() as writers:
                for number in range(80):
                    writes = [start(f"run-{number}", count=1 + number % 3)]
                    writers.create_task(attempt(storage, writes, bulk=number % 9 == 0))
                    if number % 3 == 0:
                        await next_turn()
            is_over.set()
        seen = follower.result()
        assert seen == await read_log(storage)
        assert len({(e.stream, e.version) for e in seen}) == len(seen) == 159

    async def test_the_head_is_readable_up_to_itself(self, storage: Storage) -> None:
        """Whoever reads the head and then the log finds every position below it settled."""

        async def look() -> None:
            head = await storage.head()
            then = [e for e in await read_log(storage) if e.position <= head]
            later.append((head, then))

        later: list[tuple[int, list[RecordedEvent]]] = []
        async with asyncio.TaskGroup() as group:
            for number in range(40):
                group.create_task(attempt(storage, [start(f"run-{number}", count=2)]))
                group.create_task(look())
                await next_turn()
        log = await read_log(storage)
        for head, then in later:
            assert then == [e for e in log if e.position <= head]

    async def test_a_writer_reads_what_it_wrote(self, storage: Storage) -> None:
        """The answer to an append means that every reader sees it."""

        async def write_and_read(number: int) -> None:
            stream = f"run-{number}"
            appended = await storage.append([start(stream)], [put_card(stream, content=stream)])
            assert list(await storage.read_stream(stream)) == list(appended.events)
            assert await storage.head() >= appended.position
            rows = await storage.get_rows("card", [(stream,)])
            assert len(rows.rows) == 1
            assert rows.as_of_position >= appended.position
            hits = await storage.search("card", str(number), limit=9)
            assert [key for (key,) in hits.keys] == [stream]

        async with asyncio.TaskGroup() as group:
            for number in range(30):
                group.create_task(write_and_read(number))

    async def test_a_stream_grows_under_racing_writers(self, storage: Storage) -> None:
        """Writers who read again and decide again all get through, without a gap."""

        async def insist(number: int) -> None:
            for _ in range(100):
                version = len(await storage.read_stream("run-1"))
                body = b'{"writer":%d}' % number
                outcome = await attempt(storage, [write("run-1", version, event(body))])
                if isinstance(outcome, Appended):
                    return
            raise AssertionError("this writer never got through")

        async with asyncio.TaskGroup() as group:
            for number in range(12):
                group.create_task(insist(number))
        events = await storage.read_stream("run-1")
        assert [e.version for e in events] == list(range(1, 13))
        assert len({e.body for e in events}) == len(numbered(12))
