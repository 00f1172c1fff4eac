"""Proves that committed events reach `on_committed`: all, once, in order, and not too early."""

import asyncio
import logging
import threading
from collections.abc import Sequence

from spaced.errors import ConflictingWrite
from spaced.log.record import RecordedEvent
from spaced.storage.protocol import Storage, StoragePlace
from spaced.testing.samples import (
    EVERYTHING,
    attempt,
    attempt_at_once,
    event,
    next_turn,
    read_log,
    start,
    write,
)
from spaced.testing.storage_harness import StorageHarness
from spaced.testing.storage_topics.fixtures import StorageFixtures
from spaced.testing.tables import put_card


class Listener:
    """Keeps what was announced, in one list over all batches."""

    def __init__(self) -> None:
        self.heard: list[RecordedEvent] = []

    def __call__(self, events: Sequence[RecordedEvent]) -> None:
        """Take a committed batch."""
        self.heard.extend(events)


class FailingListener(Listener):
    """Raises after it has heard a batch."""

    def __call__(self, events: Sequence[RecordedEvent]) -> None:
        """Take a committed batch and fail."""
        super().__call__(events)
        raise RuntimeError("this listener always fails")


class LogRecords(logging.Handler):
    """Keeps what was logged."""

    def __init__(self) -> None:
        super().__init__(level=logging.WARNING)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.records.append(record)


class AnnouncingPromises(StorageFixtures):
    """Who listens to the log hears it as it is, and never of what may still vanish."""

    async def test_each_event_is_announced_once_and_before_the_answer(
        self, storage: Storage
    ) -> None:
        """When an append returns, exactly its events have been announced, as they are recorded."""
        listener = storage.on_committed = Listener()
        for number in range(3):
            appended = await storage.append([start(f"run-{number}", count=2)])
            assert listener.heard[-2:] == list(appended.events)
            assert listener.heard == await read_log(storage)

    async def test_events_are_announced_in_the_order_of_positions(self, storage: Storage) -> None:
        """Also when many appends, bulk and plain, run at once."""
        listener = storage.on_committed = Listener()
        async with asyncio.TaskGroup() as group:
            for number in range(60):
                writes = [start(f"run-{number}", count=1 + number % 3)]
                group.create_task(attempt(storage, writes, bulk=number % 7 == 0))
                if number % 5 == 0:
                    await next_turn()
        assert listener.heard == await read_log(storage)
        assert len(listener.heard) == 120

    async def test_each_answer_comes_after_its_announcement(self, storage: Storage) -> None:
        """Also when appends share a commit."""
        listener = storage.on_committed = Listener()

        async def check(stream: str) -> None:
            appended = await storage.append([start(stream, count=2)])
            heard = [e for e in listener.heard if e.stream == stream]
            assert heard == list(appended.events)

        async with asyncio.TaskGroup() as group:
            for number in range(30):
                group.create_task(check(f"run-{number}"))

    async def test_what_is_announced_can_be_read(self, storage: Storage) -> None:
        """A listener that reads at once finds the event, its row and its position."""
        reads: list[asyncio.Task[Sequence[RecordedEvent]]] = []
        heads: list[asyncio.Task[int]] = []
        listener = Listener()
        async with asyncio.TaskGroup() as group:

            def on_committed(events: Sequence[RecordedEvent]) -> None:
                listener(events)
                reads.append(group.create_task(read_log(storage)))
                heads.append(group.create_task(storage.head()))

            storage.on_committed = on_committed
            outcomes = [storage.append([start(f"run-{n}")], [put_card(f"{n}")]) for n in range(5)]
            for append in outcomes:
                await append
        for count, (read, head) in enumerate(zip(reads, heads, strict=True), start=1):
            assert list(read.result())[:count] == listener.heard[:count]
            assert head.result() >= listener.heard[count - 1].position

    async def test_what_is_announced_is_durable(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """A crash in the middle of an announcement loses nothing of what was announced."""
        captured: list[tuple[StoragePlace, list[RecordedEvent]]] = []
        listener = Listener()

        def on_committed(events: Sequence[RecordedEvent]) -> None:
            listener(events)
            captured.append((harness.capture(storage), list(listener.heard)))

        storage.on_committed = on_committed
        for number in range(4):
            await storage.append([start(f"run-{number}")], [put_card(f"{number}")])
        assert len(captured) == 4
        for place, heard in captured:
            survivor = await harness.open_captured(place)
            assert (await read_log(survivor))[: len(heard)] == heard
            assert len((await survivor.list_rows("card")).rows) >= len(heard)

    async def test_events_are_announced_on_the_event_loop(self, storage: Storage) -> None:
        """A listener may touch what belongs to the loop without a lock."""
        places: list[tuple[int, asyncio.AbstractEventLoop]] = []
        storage.on_committed = lambda _: places.append(
            (threading.get_ident(), asyncio.get_running_loop())
        )
        await storage.append([start("run-1")])
        assert places == [(threading.get_ident(), asyncio.get_running_loop())]

    async def test_what_was_refused_is_not_announced(self, storage: Storage) -> None:
        """Nothing was recorded, so there is nothing to tell; the next append is told as ever."""
        await storage.append([start("run-1")])
        listener = storage.on_committed = Listener()
        jobs = [([start(f"new-{n}"), start("run-1")], ()) for n in range(5)]
        outcomes = await attempt_at_once(storage, jobs)
        assert all(isinstance(outcome, ConflictingWrite) for outcome in outcomes)
        await storage.append([], [put_card("a")])
        assert listener.heard == []
        appended = await storage.append([write("run-1", 1, event())])
        assert listener.heard == list(appended.events)

    async def test_a_failing_listener_harms_nothing(self, storage: Storage) -> None:
        """Appends succeed, the listener hears the next batch, and its error is logged."""
        listener = storage.on_committed = FailingListener()
        logged = LogRecords()
        logging.getLogger().addHandler(logged)
        try:
            for number in range(3):
                await storage.append([start(f"run-{number}")])
            await attempt_at_once(storage, [([start(f"many-{n}")], ()) for n in range(10)])
        finally:
            logging.getLogger().removeHandler(logged)
        assert listener.heard == await read_log(storage)
        assert len(listener.heard) == 13
        assert any(record.exc_info for record in logged.records)

    async def test_the_past_is_not_announced_again(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Opening a storage tells nothing; a follower reads what it missed."""
        await storage.append([start("run-1", count=3)])
        reopened = await harness.reopen(storage)
        listener = reopened.on_committed = Listener()
        assert len(await reopened.read_all(after=0, limit=EVERYTHING)) == 3
        appended = await reopened.append([start("run-2")])
        assert listener.heard == list(appended.events)
