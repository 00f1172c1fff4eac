"""Proves how a storage reads: filters, pages, positions and the list of streams."""

from spaced.storage.protocol import Storage
from spaced.testing.samples import EVERYTHING, event, numbered, read_log, start, write
from spaced.testing.storage_harness import StorageHarness
from spaced.testing.storage_topics.fixtures import StorageFixtures
from spaced.testing.tables import put_card

NAMES = ["Z", "a", "a-b", "ab", "é", "\uffff", "\U0001f600"]
"""In the order of their code points."""


async def tell_a_story(storage: Storage) -> None:
    """Append events of two sessions and their items to one stream."""
    about = [("s1", "i1"), ("s1", "i2"), ("s2", "i1"), ("s1", None), (None, None), ("s1", "i1")]
    events = [event(session_id=session, item_id=item) for session, item in about]
    await storage.append([write("run-1", 0, *events)])
    await storage.append([write("run-2", 0, event(session_id="s1", item_id="i1"))])


class ReadingPromises(StorageFixtures):
    """Readers get exactly what they asked for, in order."""

    async def test_an_unknown_stream_has_no_events(self, storage: Storage) -> None:
        """Reading what never was is no error."""
        await storage.append([start("run-1")])
        assert list(await storage.read_stream("run-2")) == []

    async def test_a_stream_is_read_from_behind_a_version(self, storage: Storage) -> None:
        """`after` is the last version that the reader has."""
        await storage.append([start("run-1", count=5)])
        for after, expected in ((0, [1, 2, 3, 4, 5]), (3, [4, 5]), (5, []), (99, [])):
            events = await storage.read_stream("run-1", after=after)
            assert [e.version for e in events] == expected

    async def test_a_stream_is_read_up_to_a_limit(self, storage: Storage) -> None:
        """`limit` counts events from `after` on."""
        await storage.append([start("run-1", count=5)])
        first = await storage.read_stream("run-1", limit=2)
        second = await storage.read_stream("run-1", after=2, limit=2)
        third = await storage.read_stream("run-1", after=4, limit=2)
        assert [[e.version for e in page] for page in (first, second, third)] == [
            [1, 2],
            [3, 4],
            [5],
        ]

    async def test_a_session_is_found_in_its_stream(self, storage: Storage) -> None:
        """Only events about the session, and only of this stream."""
        await tell_a_story(storage)
        events = await storage.read_stream("run-1", session_id="s1")
        assert [e.version for e in events] == [1, 2, 4, 6]
        assert {e.stream for e in events} == {"run-1"}

    async def test_items_of_a_session_are_found(self, storage: Storage) -> None:
        """Only events about these items; the same item id in another session is another item."""
        await tell_a_story(storage)
        for items, expected in (
            (["i1"], [1, 6]),
            (["i2", "i1"], [1, 2, 6]),
            (["i9"], []),
            ([], []),
        ):
            events = await storage.read_stream("run-1", session_id="s1", item_ids=items)
            assert [e.version for e in events] == expected

    async def test_filters_of_a_stream_work_together(self, storage: Storage) -> None:
        """`limit` counts only what passes the other filters."""
        await tell_a_story(storage)
        page = await storage.read_stream("run-1", session_id="s1", after=1, limit=2)
        assert [e.version for e in page] == [2, 4]
        items = ["i1", "i2"]
        page = await storage.read_stream("run-1", session_id="s1", item_ids=items, after=1, limit=1)
        assert [e.version for e in page] == [2]

    async def test_many_items_are_found_at_once(self, storage: Storage) -> None:
        """A page of a transcript asks for hundreds of items in one call."""
        events = [event(session_id="s", item_id=f"i{n}") for n in range(1200)]
        await storage.append([write("run-1", 0, *events)])
        wanted = [f"i{n}" for n in range(0, 1200, 2)]
        found = await storage.read_stream("run-1", session_id="s", item_ids=wanted)
        assert [e.item_id for e in found] == wanted

    async def test_items_of_several_sessions_are_read_at_once(self, storage: Storage) -> None:
        """Only events about them, in the order of the log, and each once."""
        await tell_a_story(storage)
        other = event(session_id="s3", item_id="i1")
        await storage.append([write("run-3", 0, other, event(session_id="s3", item_id="i4"))])
        await storage.append([write("run-1", 6, event(session_id="s1", item_id="i1"))])
        wanted = {
            ("run-3", "s3"): ["i1", "i1", "i9"],
            ("run-1", "s1"): ["i1"],
            ("run-1", "nobody"): ["i1"],
            ("nothing", "s1"): ["i1"],
            ("run-1", "s3"): ["i1"],
        }
        found = await storage.read_items(wanted)
        assert [(e.stream, e.version) for e in found] == [
            *(("run-1", 1), ("run-1", 6)),
            *(("run-3", 1), ("run-1", 7)),
        ]
        assert await storage.read_items({}) == []
        assert await storage.read_items({("run-1", "s1"): []}) == []

    async def test_the_log_is_read_in_the_order_of_positions(self, storage: Storage) -> None:
        """The order of the log is the order of the appends, over all streams."""
        await storage.append([start("run-2")])
        await storage.append([start("run-1", count=2)])
        await storage.append([write("run-2", 1, event())])
        events = await read_log(storage)
        order = [("run-2", 1), ("run-1", 1), ("run-1", 2), ("run-2", 2)]
        assert [(e.stream, e.version) for e in events] == order
        positions = [e.position for e in events]
        assert positions == sorted(set(positions))

    async def test_the_log_is_read_in_pages(self, storage: Storage) -> None:
        """Pages from the last position on give every event once."""
        await storage.append([start("run-1", count=7)])
        seen: list[int] = []
        for size in (3, 3, 1, 0):
            page = await storage.read_all(after=seen[-1] if seen else 0, limit=3)
            assert len(page) == size
            seen.extend(e.position for e in page)
        assert seen == [e.position for e in await storage.read_stream("run-1")]

    async def test_some_kinds_are_read_from_the_log(self, storage: Storage) -> None:
        """`limit` counts only events of these kinds; no kinds find nothing."""
        kinds = ["a", "b", "a", "c", "b", "a"]
        await storage.append([write("run-1", 0, *(event(kind=kind) for kind in kinds))])
        for asked, after, limit, expected in (
            (["a"], 0, 2, [1, 3]),
            (["a"], 3, 2, [6]),
            (["b", "c"], 2, EVERYTHING, [4, 5]),
            (["d"], 0, EVERYTHING, []),
            ([], 0, EVERYTHING, []),
        ):
            events = await storage.read_all(after=after, limit=limit, kinds=asked)
            assert [e.version for e in events] == expected

    async def test_an_empty_log_has_head_zero(self, storage: Storage) -> None:
        """0 stands before the first event."""
        assert await storage.head() == 0
        assert await read_log(storage) == []

    async def test_the_head_is_the_last_position(self, storage: Storage) -> None:
        """Whoever reads up to the head has everything."""
        await storage.append([start("run-1", count=3)])
        await storage.append([start("run-2")])
        assert await storage.head() == (await read_log(storage))[-1].position

    async def test_streams_are_listed_by_name(self, storage: Storage) -> None:
        """Names are ordered by code points, whatever the order of the appends."""
        await storage.append([start(name) for name in reversed(NAMES)])
        heads = await storage.list_streams(limit=EVERYTHING)
        assert [head.stream for head in heads] == NAMES

    async def test_streams_are_listed_with_their_versions(self, storage: Storage) -> None:
        """A head tells the newest version."""
        await storage.append([start("run-1", count=3), start("run-2")])
        await storage.append([write("run-2", 1, *numbered(4))])
        heads = await storage.list_streams(limit=9)
        assert [(h.stream, h.version) for h in heads] == [("run-1", 3), ("run-2", 5)]

    async def test_the_version_of_a_stream_is_told(self, storage: Storage) -> None:
        """It counts the stream's events alone; a stream without any is at 0."""
        await storage.append([start("run-1", count=3), start("run-2")])
        await storage.append([write("run-1", 3, event())])
        assert await storage.version("run-1") == 4
        assert await storage.version("run-2") == 1
        assert await storage.version("run-3") == 0

    async def test_a_purged_stream_is_at_version_0(self, storage: Storage) -> None:
        """Nothing of it is left to count."""
        await storage.append([start("run-1", count=3)])
        await storage.purge("run-1")
        assert await storage.version("run-1") == 0

    async def test_streams_are_listed_in_pages(self, storage: Storage) -> None:
        """Pages from the last name on give every stream once."""
        await storage.append([start(name) for name in NAMES])
        seen: list[str] = []
        for size in (2, 2, 2, 1, 0):
            page = await storage.list_streams(after=seen[-1] if seen else "", limit=2)
            assert len(page) == size
            seen.extend(head.stream for head in page)
        assert seen == NAMES

    async def test_only_streams_with_events_are_listed(self, storage: Storage) -> None:
        """Rows about a stream do not make one."""
        await storage.append([write("run-1", 0)], [put_card("a", stream="run-1")])
        assert list(await storage.list_streams(limit=9)) == []

    async def test_everything_is_read_the_same_after_a_reopen(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """Closing and opening changes no answer."""
        await tell_a_story(storage)
        log, heads = await read_log(storage), list(await storage.list_streams(limit=9))
        reopened = await harness.reopen(storage)
        assert await read_log(reopened) == log
        assert list(await reopened.list_streams(limit=9)) == heads
        assert await reopened.head() == log[-1].position

    async def test_versions_go_on_after_a_reopen(
        self, storage: Storage, harness: StorageHarness
    ) -> None:
        """The next event of a stream follows its last, and so does its position."""
        before = await storage.append([start("run-1", count=2)])
        reopened = await harness.reopen(storage)
        after = await reopened.append([write("run-1", 2, event())])
        assert after.events[0].version == 3
        assert after.position > before.position
