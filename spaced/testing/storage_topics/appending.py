"""Proves what `append` does to streams: versions, positions, atomicity and what it refuses."""

import json

import pytest

from spaced.errors import AppendTooLarge, ConflictingWrite, StaleVersion
from spaced.log.record import RecordedEvent
from spaced.log.table import DeleteRow, InsertRow, PutRow, RowWrite
from spaced.storage.protocol import MAX_APPEND_BYTES, Appended, Storage
from spaced.testing.fake_clock import START
from spaced.testing.samples import attempt_at_once, event, numbered, read_log, start, write
from spaced.testing.storage_harness import StorageHarness
from spaced.testing.storage_topics.fixtures import StorageFixtures
from spaced.testing.tables import card, label, put_card

WRONG_ROWS: dict[str, RowWrite] = {
    "unknown table": PutRow(table="nothing", row={"id": "a"}),
    "missing column": InsertRow(table="label", row={"owner": "a", "number": 1}),
    "column too many": PutRow(table="label", row={**label("a", 1), "more": 1}),
    "wrong type": PutRow(table="label", row={**label("a", 1), "number": "one"}),
    "integer beyond 64 bits": PutRow(table="label", row=label("a", 2**63)),
    "null key": PutRow(table="label", row={**label("a", 1), "owner": None}),
    "unknown text": PutRow(table="label", row=label("a", 1), text={"heading": "a"}),
    "short key": DeleteRow(table="label", key=("a",)),
    "text with half a character": PutRow(table="label", row=label("\ud800", 1)),
}

BODIES = (
    b"{}",
    b'{"text":"caf\xc3\xa9 \xf0\x9f\x98\x80"}',
    b'{"text":"caf\\u00e9 \\ud83d\\ude00 \\u0000"}',
    b'{"big":123456789012345678901234567890,"exact":1.10,"tiny":1E-400}',
    b'{"b":1,"a":2,"b":3}',
    json.dumps({"text": "line\n" * 40_000}).encode(),
)


class AppendingPromises(StorageFixtures):
    """Streams grow by whole appends, or not at all."""

    async def test_the_first_event_of_a_stream_has_version_one(self, storage: Storage) -> None:
        """Version and position count from 1."""
        appended = await storage.append([start("run-1")])
        assert [(e.version, e.position) for e in appended.events] == [(1, 1)]

    async def test_versions_of_a_stream_have_no_gaps(self, storage: Storage) -> None:
        """Appends to other streams in between take positions, never versions."""
        await storage.append([start("run-1", count=2)])
        await storage.append([start("run-2", count=3)])
        await storage.append([write("run-1", 2, *numbered(2))])
        events = await storage.read_stream("run-1")
        assert [e.version for e in events] == [1, 2, 3, 4]

    async def test_an_append_returns_exactly_what_is_read_later(self, storage: Storage) -> None:
        """The answer is the record, in the order of the writes and of their events."""
        appended = await storage.append([start("run-2", count=2), start("run-1", count=2)])
        assert list(appended.events) == list(await read_log(storage))
        expected = [("run-2", 1), ("run-2", 2), ("run-1", 1), ("run-1", 2)]
        assert [(e.stream, e.version) for e in appended.events] == expected

    async def test_events_of_one_append_keep_their_order(self, storage: Storage) -> None:
        """What was written first is read first, by version and by position."""
        await storage.append([start("run-1", count=30)])
        events = await storage.read_stream("run-1")
        assert [e.body for e in events] == [e.body for e in numbered(30)]
        positions = [e.position for e in events]
        assert positions == sorted(set(positions))

    async def test_an_append_tells_the_position_of_the_log(self, storage: Storage) -> None:
        """The position after an append is its last event's, and the head of a log at rest."""
        for count in (1, 3):
            appended = await storage.append([start(f"run-{count}", count=count)])
            assert appended.position == appended.events[-1].position == await storage.head()

    async def test_a_writer_behind_the_stream_is_refused(self, storage: Storage) -> None:
        """Who read version 0 cannot append after somebody else did."""
        await storage.append([start("run-1")])
        with pytest.raises(StaleVersion) as caught:
            await storage.append([start("run-1")])
        error = caught.value
        assert (error.stream, error.expected, error.found) == ("run-1", 0, 1)

    async def test_a_writer_ahead_of_the_stream_is_refused(self, storage: Storage) -> None:
        """A stream never gets a gap because somebody expects too much of it."""
        await storage.append([start("run-1")])
        with pytest.raises(StaleVersion) as caught:
            await storage.append([write("run-1", 2, event())])
        assert caught.value.found == 1

    async def test_a_writer_to_a_stream_that_never_was_is_refused(self, storage: Storage) -> None:
        """An unknown stream is at version 0."""
        with pytest.raises(StaleVersion) as caught:
            await storage.append([write("run-1", 1, event())])
        assert caught.value.found == 0

    async def test_one_stale_stream_refuses_all_streams_and_rows(self, storage: Storage) -> None:
        """An append over several streams is one thing."""
        await storage.append([start("run-2")])
        before = await read_log(storage)
        for writes in (
            [start("run-1"), start("run-2"), start("run-3")],
            [start("run-1"), write("run-2", 5)],
        ):
            with pytest.raises(ConflictingWrite):
                await storage.append(writes, [put_card("a", content="word")])
        assert await read_log(storage) == before
        assert not (await storage.get_rows("card", [("a",)])).rows
        assert not (await storage.search("card", "word", limit=9)).keys

    async def test_a_refused_append_burns_no_version(self, storage: Storage) -> None:
        """The streams of a refused append go on as if it had never been tried."""
        await storage.append([start("run-2")])
        with pytest.raises(StaleVersion):
            await storage.append([start("run-1", count=3), start("run-2")])
        appended = await storage.append([start("run-1")])
        assert appended.events[0].version == 1

    async def test_a_write_without_events_only_checks_the_version(self, storage: Storage) -> None:
        """A right version lets the rest through, and its stream stays as it was."""
        await storage.append([start("run-1", count=2)])
        await storage.append([write("run-1", 2), write("run-9", 0), start("run-2")])
        assert len(await storage.read_stream("run-1")) == 2
        heads = await storage.list_streams(limit=9)
        assert [(h.stream, h.version) for h in heads] == [("run-1", 2), ("run-2", 1)]

    async def test_a_write_without_events_guards_rows_alone(self, storage: Storage) -> None:
        """Rows can depend on a stream's version even if nothing is recorded."""
        await storage.append([start("run-1")])
        await storage.append([write("run-1", 1)], [put_card("a")])
        with pytest.raises(StaleVersion):
            await storage.append([write("run-1", 0)], [put_card("b")])
        rows = (await storage.get_rows("card", [("a",), ("b",)])).rows
        assert [row["card_id"] for row in rows] == ["a"]

    async def test_an_empty_append_changes_nothing(self, storage: Storage) -> None:
        """Nothing to write is no error, and tells the position."""
        await storage.append([start("run-1")])
        appended = await storage.append([])
        assert (list(appended.events), appended.position) == ([], 1)
        assert await storage.head() == 1

    async def test_rows_alone_take_no_position(self, storage: Storage) -> None:
        """Positions number events and nothing else."""
        await storage.append([start("run-1")])
        appended = await storage.append([], [put_card("a")])
        assert (list(appended.events), appended.position) == ([], 1)
        assert (await storage.append([start("run-2")])).position == 2

    async def test_bodies_come_back_byte_for_byte(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """A storage never interprets a body: no parsing, no sorting, no rounding, no trimming."""
        await storage.append([write("run-1", 0, *map(event, BODIES))])
        reopened = await harness.reopen(storage)
        assert [e.body for e in await reopened.read_stream("run-1")] == list(BODIES)

    async def test_the_envelope_is_kept(self, storage: Storage) -> None:
        """Kind, session and item come back, also where there is none."""
        full = event(kind="item-added", session_id="ses_é", item_id="itm_1")
        await storage.append([write("run-1", 0, full, event())])
        events = await storage.read_stream("run-1")
        envelopes = [(e.kind, e.session_id, e.item_id) for e in events]
        assert envelopes == [("item-added", "ses_é", "itm_1"), ("noted", None, None)]

    async def test_the_time_of_the_fact_is_kept(self, storage: Storage) -> None:
        """`created_at` is the writer's, even if it lies before 1970 or runs backwards."""
        times = (START, START - 5, -62_135_596_800_000)
        await storage.append([write("run-1", 0, *(event(created_at=t) for t in times))])
        assert [e.created_at for e in await storage.read_stream("run-1")] == list(times)

    async def test_the_time_of_recording_is_the_clocks(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """`recorded_at` comes from the clock of the place, also when it is set back."""
        for version, seconds in enumerate((0, 90, -3600)):
            harness.clock.advance(seconds=seconds)
            await storage.append([write("run-1", version, event(created_at=1))])
        recorded = [e.recorded_at for e in await storage.read_stream("run-1")]
        assert recorded == [START, START + 90_000, START - 3_510_000]

    async def test_an_append_over_the_limit_is_refused_whole(self, storage: Storage) -> None:
        """Too large is counted over the whole append, and nothing of it is kept."""
        half = event(b'"%s"' % (b"x" * (MAX_APPEND_BYTES // 2)))
        with pytest.raises(AppendTooLarge):
            await storage.append([write("run-1", 0, half), write("run-2", 0, half)])
        assert not await read_log(storage)

    async def test_an_append_at_the_limit_is_taken(self, storage: Storage) -> None:
        """What the check lets through, the storage takes in one piece."""
        large = event(b'"%s"' % (b"x" * (MAX_APPEND_BYTES - 1000)))
        appended = await storage.append([write("run-1", 0, large)])
        assert appended.events[0].body == large.body
        assert (await storage.read_stream("run-1"))[0].body == large.body

    async def test_a_wrong_call_changes_nothing(self, storage: Storage) -> None:
        """A `ValueError` comes before anything is written."""
        for row in WRONG_ROWS.values():
            with pytest.raises(ValueError):
                await storage.append([start("run-1")], [put_card("a"), row])
        for writes in ([start("run-1"), write("run-1", 1, event())], [write("run-1", -1, event())]):
            with pytest.raises(ValueError):
                await storage.append(writes, [put_card("a")])
        assert not await read_log(storage)
        assert not (await storage.list_rows("card")).rows

    async def test_nobody_can_change_what_was_written(self, storage: Storage) -> None:
        """What goes in is copied, and so is what comes out."""
        row, events = dict(card("a", title="kept")), [event(b'{"n":1}')]
        appended = await storage.append(
            [write("run-1", 0, *events)], [PutRow(table="card", row=row)]
        )
        row["title"] = "changed"
        _clear(appended)
        read = (await storage.get_rows("card", [("a",)])).rows[0]
        if isinstance(read, dict):
            read["title"] = "changed"
        assert (await storage.get_rows("card", [("a",)])).rows[0]["title"] == "kept"
        assert [e.body for e in await read_log(storage)] == [b'{"n":1}']

    async def test_hundreds_of_appends_are_all_there(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """No append is lost, however many there were, and none is there twice."""
        answers: list[RecordedEvent] = []
        for number in range(10):
            jobs = [([start(f"run-{number}-{lane}", count=2)], ()) for lane in range(25)]
            for outcome in await attempt_at_once(storage, jobs):
                assert isinstance(outcome, Appended)
                answers.extend(outcome.events)
        reopened = await harness.reopen(storage)
        assert await read_log(reopened) == sorted(answers, key=lambda e: e.position)


def _clear(appended: Appended) -> None:
    if isinstance(appended.events, list):
        appended.events.clear()
