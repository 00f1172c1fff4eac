"""What a client of an event stream hears, in which order, and what it never misses."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spaced.api.streams.filters import ABOUT_ITS_RUN, EventFilter
from spaced.api.streams.hub import EventHub, StreamSettings
from spaced.client.sse import Frame, FrameReader
from spaced.domain.events.catalogue import EVENTS
from spaced.engine.announcements import Announcements
from spaced.log.record import NewEvent, StreamWrite
from spaced.refusals import BadCursor, DaemonStopping, TooManyStreams
from spaced.storage.memory import MemoryStorageFactory
from spaced.storage.protocol import StoragePlace
from spaced.testing.fake_clock import FakeClock
from spaced.testing.samples import next_turn
from spaced.wire.cursors import read_cursor
from tests.integration.api.listening import PATIENCE, cursor_at, frames_until, positions
from tests.integration.engine.house import CORE_TABLES, House, Houses, Step, gate, say


@asynccontextmanager
async def hub_over(house: House, **options: Any) -> AsyncIterator[EventHub]:
    """A hub that listens to a house's engine."""
    hub = EventHub(
        house.storage,
        house.engine.announcements,
        house.clock,
        settings=StreamSettings(**options),
    )
    await hub.open()
    try:
        yield hub
    finally:
        await hub.close()


def answer(content: str, stream_status: str = "streaming") -> Step:
    """Return a step that reports an answer as it is now."""
    item = {"type": "message", "role": "assistant", "content": content}
    return {"do": "raw", "source": "a", "item": {**item, "stream_status": stream_status}}


async def test_a_client_without_a_cursor_hears_of_now_and_of_what_comes(house: House) -> None:
    """First who speaks, then what is going on, then only what is new."""
    chat = await house.chat([say("hello")])
    async with hub_over(house) as hub:
        listening = asyncio.ensure_future(frames_until(hub, "turn-ended"))
        while not hub.count:
            await next_turn()
        await house.turn(chat)
        heard = await listening

    names = [frame.name for frame in heard]
    assert names[:2] == ["hello", "live"]
    assert "prompt-admitted" in names
    assert "run-created" not in names


async def test_a_cursor_brings_everything_behind_it_once_and_in_order(house: House) -> None:
    """Whatever the length: pages are joined without a gap and without a repetition."""
    chat = await house.chat([say("hello")])
    for _ in range(40):
        await house.turn(chat)
    async with hub_over(house) as hub:
        heard = await frames_until(hub, "live", after=cursor_at(hub, 0))
        middle = hub.head // 2
        rest = await frames_until(hub, "live", after=cursor_at(hub, middle))
        log = [event.position for event in await house.log()]

    assert positions(heard) == log
    assert positions(rest) == [position for position in log if position > middle]


async def test_a_stream_of_a_session_has_its_events_and_those_that_change_its_run(
    house: House,
) -> None:
    """What happens in another chat, and how its run was set up, is not in it."""
    mine, other = await house.chat([say("hello")]), await house.chat([say("hello")])
    await house.turn(mine)
    await house.turn(other)
    await house.engine.sessions.archive(mine)
    wanted = EventFilter(stream=mine, session_id=mine)
    async with hub_over(house) as hub:
        heard = await frames_until(hub, "live", wanted=wanted, after=cursor_at(hub, 0))

    names = [frame.name for frame in heard]
    assert {frame.data["stream"] for frame in heard if "version" in frame.data} == {mine}
    assert "run-updated" in names
    assert "session-made-primary" in names
    assert "run-created" not in names


async def test_every_cursor_is_good_on_every_stream(house: House) -> None:
    """Positions are global: one taken from any stream says where another one goes on."""
    mine, other = await house.chat([say("hello")]), await house.chat([say("hello")])
    for _ in range(3):
        await house.turn(mine)
        await house.turn(other)
    recorded = [e.position for e in await house.recorded(mine) if e.session_id == mine]
    async with hub_over(house) as hub:
        wanted = EventFilter(stream=mine, session_id=mine)
        for event in await house.recorded(other):
            after = cursor_at(hub, event.position)
            heard = await frames_until(hub, "live", wanted=wanted, after=after)
            missed = [position for position in recorded if position > event.position]
            assert [p for p in positions(heard) if p in recorded] == missed


@pytest.mark.parametrize("cursor", ["another-log.7", "{log}.999999"])
async def test_a_cursor_that_means_nothing_here_is_answered_with_a_reset(
    house: House, cursor: str
) -> None:
    """The client is told to read anew, and goes on from now."""
    await house.chat()
    async with hub_over(house) as hub:
        after = cursor.format(log=hub.log_id)
        heard = await frames_until(hub, "live", after=after)
        head = cursor_at(hub, hub.head)

    assert [frame.name for frame in heard] == ["hello", "reset", "live"]
    assert heard[1].cursor == head
    assert heard[1].data["reason"] in ("another-log", "beyond-the-head")


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "7",
        "log.",
        ".7",
        "log.-1",
        "log.9e9",
        "log.1.5x",
        "log.\N{ARABIC-INDIC DIGIT SEVEN}",
        "'; DROP.x",
        "x" * 9999,
    ],
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    """Nothing else than what was given out is taken, whatever its size or script."""
    with pytest.raises(BadCursor):
        read_cursor(text)
    with pytest.raises(BadCursor):
        read_cursor("log." + "9" * 30)


async def test_a_heartbeat_moves_a_filtered_stream_forward(house: House) -> None:
    """Its cursor stands behind everything that was looked at, so a reconnect begins there."""
    chat = await house.chat([say("hello")])
    async with hub_over(house) as hub:
        wanted = EventFilter(kinds=frozenset({"run-deleted"}))
        subscription = hub.subscribe(EventFilter(kinds=wanted.kinds), None)
        reader, heard = FrameReader(), list[Frame]()
        async with aclosing(subscription.chunks()) as chunks:
            while "live" not in [frame.name for frame in heard]:
                heard += reader.feed(await anext(chunks))
            await house.turn(chat)
            await house.pass_time(15_000)
            heard += reader.feed(await anext(chunks))
        head = hub.head

    assert [frame.name for frame in heard] == ["hello", "live", "heartbeat"]
    assert heard[-1].cursor == cursor_at(hub, head)
    assert heard[-1].data["time"].endswith("Z")


async def test_nobody_listening_means_no_heartbeat(house: House) -> None:
    """An idle daemon is not woken up for nobody."""
    async with hub_over(house) as hub:
        await frames_until(hub, "live")
        before = house.clock.sleepers
        await house.pass_time(15_000, sleepers=before)
        async with asyncio.timeout(PATIENCE):
            while house.clock.sleepers:
                await next_turn()

    assert house.clock.sleepers == 0


async def test_a_reader_that_does_not_keep_up_is_told_so_and_closed(house: House) -> None:
    """It comes back with its cursor; what waits for it never grows beyond the bound."""
    chat = await house.chat([say("x" * 4000)])
    async with hub_over(house, longest_queue=20_000) as hub:
        subscription = hub.subscribe(EventFilter(), None)
        async with aclosing(subscription.chunks()) as chunks:
            reader, heard = FrameReader(), list[Frame]()
            while "live" not in [frame.name for frame in heard]:
                heard += reader.feed(await anext(chunks))
            for _ in range(5):
                await house.turn(chat)
            heard += reader.feed(await anext(chunks))
            rest = [chunk async for chunk in chunks]
        assert hub.count == 0

    assert heard[-1].name == "lagged"
    assert rest == []


async def test_one_who_does_not_read_costs_the_others_nothing(house: House) -> None:
    """The hub waits for nobody."""
    chat = await house.chat([say("x" * 4000)])
    async with hub_over(house, longest_queue=200_000) as hub:
        idle = hub.subscribe(EventFilter(), None)
        async with aclosing(idle.chunks()) as chunks:
            await anext(chunks)
            await anext(chunks)
            start = cursor_at(hub, hub.head)
            listening = asyncio.ensure_future(frames_until(hub, "run-deleted", after=start))
            for _ in range(20):
                await house.turn(chat)
            await house.engine.deletions.delete(chat)
            heard = await listening
        log = [event.position for event in await house.log()]

    assert positions(heard) == [p for p in log if p > read_cursor(start).position]


async def test_only_so_many_listen_at_once(house: House) -> None:
    """One more is refused; when somebody leaves there is a place again."""
    async with hub_over(house, most=2) as hub:
        first, second = (hub.subscribe(EventFilter(), None) for _ in range(2))
        with pytest.raises(TooManyStreams):
            hub.subscribe(EventFilter(), None)
        async with aclosing(first.chunks()) as chunks:
            await anext(chunks)
        assert hub.count == 1
        hub.subscribe(EventFilter(), None)
        assert second.wanted == EventFilter()


async def test_a_daemon_that_ends_says_goodbye(house: House) -> None:
    """Behind everything that happened before; and it takes nobody any more."""
    hub = EventHub(house.storage, house.engine.announcements, house.clock)
    await hub.open()
    listening = asyncio.ensure_future(frames_until(hub, "bye"))
    while not hub.count:
        await next_turn()
    await house.chat()
    await hub.close()

    assert (await listening)[-1].name == "bye"
    with pytest.raises(DaemonStopping):
        hub.subscribe(EventFilter(), None)


async def test_who_comes_in_the_middle_of_an_answer_is_told_all_of_it(house: House) -> None:
    """What is recorded, what is on its way, and what follows make the whole text."""
    text = "".join(f"{number:04}" for number in range(300))
    script = [
        *(answer(text[:length]) for length in range(100, 601, 50)),
        gate(),
        answer(text, stream_status="complete"),
    ]
    chat = await house.chat(script)
    async with hub_over(house) as hub:
        await house.send(chat, "go")
        await house.reached()
        heard = await frames_until(hub, "live", after=cursor_at(hub, 0))
        house.runtime.gates.open("gate")
        await house.idle(chat)
    texts = heard[-1].data["texts"]
    statuses = heard[-1].data["statuses"]

    assert statuses[chat]["word"] == "busy"
    appended = [f.data["body"]["item"] for f in heard if f.name == "agent-item-appended"]
    recorded = next(item for item in appended if item.get("role") == "assistant")
    known = recorded["content"]
    for one in texts:
        assert one["offset"] <= len(known)
        known = known[: one["offset"]] + one["text"]
    assert known == text[:600]


async def test_open_asks_are_told_whoever_looks_and_answered_ones_are_not(houses: Houses) -> None:
    """Also those that were asked before anybody listened, and before a restart."""
    house = await houses.open()
    chat = await house.chat([{"do": "tool", "name": "run", "output": "x", "permission": True}])
    await house.send(chat, "go")
    ask_id = await house.until_asked(chat)
    async with hub_over(house) as hub:
        before = await frames_until(hub, "live")
        ask = await house.engine.asks.get(ask_id)
        assert ask.permission is not None
        option = str(ask.permission.options[0]["option_id"])
        await house.engine.asks.answer_permission(ask_id, option_id=option)
        await house.idle(chat)
        after = await frames_until(hub, "live")

    assert [one["id"] for one in before[-1].data["asks"]] == [ask_id]
    assert after[-1].data["asks"] == []


@settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    batches=st.lists(st.integers(min_value=1, max_value=400), min_size=1, max_size=8),
    start=st.integers(min_value=0, max_value=400),
)
async def test_no_event_is_missed_or_told_twice_however_reading_and_writing_meet(
    batches: list[int], start: int
) -> None:
    """A client that catches up while others write hears exactly what the log has."""
    clock = FakeClock()
    place = StoragePlace(folder=Path("nowhere"), tables=CORE_TABLES, clock=clock)
    storage = await MemoryStorageFactory().open(place)
    announcements = Announcements()
    storage.on_committed = announcements.committed
    hub = EventHub(storage, announcements, clock)
    version = 0

    async def write(count: int) -> None:
        nonlocal version
        event = NewEvent(kind="queue-paused", body=b"{}", created_at=clock.now())
        await storage.append(
            [StreamWrite(stream="s", expected_version=version, events=[event] * count)]
        )
        version += count

    await write(400)
    await hub.open()
    last = NewEvent(kind="run-deleted", body=b"{}", created_at=clock.now())

    async def write_all() -> None:
        for count in batches:
            await write(count)
        await storage.append([StreamWrite(stream="t", expected_version=0, events=[last])])

    listening = asyncio.ensure_future(frames_until(hub, "run-deleted", after=cursor_at(hub, start)))
    await write_all()
    heard = await listening
    await hub.close()
    await storage.close()

    total = 400 + sum(batches) + 1
    assert positions(heard) == list(range(start + 1, total + 1))


def test_a_stream_of_a_session_carries_kinds_that_there_are() -> None:
    """A kind that is misspelt would never come."""
    assert {cls.kind for cls in EVENTS} >= ABOUT_ITS_RUN
