"""Event streams over a real connection: cut, filtered, read by others, and not read at all."""

import asyncio
import json
import logging
import tempfile
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
from aiohttp import web
from httpx_sse import EventSource
from sseclient import SSEClient

from spaced.api.application import application
from spaced.client import calls
from spaced.client.client import Client
from spaced.client.place import Place
from spaced.client.sse import Frame, FrameReader
from spaced.errors import CorruptStream
from spaced.log.record import NewEvent, StreamWrite
from spaced.refusals import BadCursor, DaemonGone, TooManyStreams, UnknownSession
from tests.integration.api.api_house import ApiHouse, api_over
from tests.integration.engine.house import House, say

PATIENCE = 30
STRANGE = "a\rb\nc\r\nd\u2028e\u2029f\x85g\x00h\x0bi\x1cj\n\nevent: forged\ndata: {}\n\nk 🐚"


async def heard_until(api: ApiHouse, name: str, **wanted: Any) -> list[Frame]:
    """Return the frames of a client up to the first of this name."""
    heard: list[Frame] = []
    async with (
        asyncio.timeout(PATIENCE),
        aclosing(api.client().events(patience=0, **wanted)) as frames,
    ):
        async for frame in frames:
            heard.append(frame)
            if frame.name == name:
                break
    return heard


def durable(frames: list[Frame]) -> list[str]:
    """Return the cursors of the events among frames."""
    return [str(frame.cursor) for frame in frames if "version" in frame.data]


async def write_events(house: House, number: int, *, stream: str = "ses_busy") -> None:
    """Let this many events happen, in appends of five hundred."""
    event = NewEvent(kind="queue-paused", body=b"{}", created_at=house.clock.now())
    version = await house.storage.version(stream)
    for first in range(0, number, 500):
        some = [event] * min(500, number - first)
        write = StreamWrite(stream=stream, expected_version=version, events=some)
        await house.storage.append([write])
        version += len(some)


@pytest.mark.parametrize("kinds", [None, ["queue-paused"], ["prompt-admitted"]])
async def test_ten_thousand_events_pass_during_a_cut_of_thirty_seconds(
    api: ApiHouse, kinds: list[str] | None
) -> None:
    """The reader comes back with its cursor and has everything, once and in order."""
    chat = await api.house.chat([say("hello")])
    await api.house.turn(chat)
    before = await heard_until(api, "live", after=f"{api.hub.log_id}.0", kinds=kinds)
    await write_events(api.house, 10_000)
    api.house.clock.advance(milliseconds=30_000)
    await api.house.turn(chat)
    last = str(before[-2].cursor) if len(before) > 2 else f"{api.hub.log_id}.0"
    after = await heard_until(api, "live", after=last, kinds=kinds)

    log = await api.house.log()
    wanted = [
        f"{api.hub.log_id}.{event.position}"
        for event in log
        if kinds is None or event.kind in kinds
    ]
    assert len(log) > 10_000
    assert durable(before) + durable(after) == wanted


async def test_a_client_that_is_cut_again_and_again_misses_nothing(api: ApiHouse) -> None:
    """Each connection ends after a few frames; the client goes on by itself."""
    chat = await api.house.chat([say("hello")])
    heard: list[Frame] = []
    async with (
        asyncio.timeout(PATIENCE),
        aclosing(api.client(pause=_no_pause).events(after=f"{api.hub.log_id}.0")) as frames,
    ):
        for turn in range(6):
            await api.house.turn(chat)
            while api.hub.cursor(api.hub.head) not in durable(heard[-1:]):
                heard.append(await anext(frames))
            for subscription in tuple(api.hub._known):
                if turn % 2:
                    subscription.lag()
    log = [f"{api.hub.log_id}.{event.position}" for event in await api.house.log()]

    told = durable(heard)
    assert told == log[: len(told)]
    assert len([frame for frame in heard if frame.name == "hello"]) >= 3


async def _no_pause(seconds: float) -> None:
    del seconds


async def _bytes_of(api: ApiHouse, target: str, **headers: str) -> AsyncGenerator[bytes]:
    connector = aiohttp.UnixConnector(str(api.place.socket))
    told = {"Accept": "text/event-stream", **headers}
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(f"http://spaced{target}", headers=told) as response,
    ):
        assert response.status == 200
        assert response.content_type == "text/event-stream"
        async for piece in response.content.iter_any():
            yield piece


def _by_us(content: bytes) -> list[Mapping[str, Any]]:
    reader = FrameReader()
    frames = [f for n in range(0, len(content), 7) for f in reader.feed(content[n : n + 7])]
    return [frame.data for frame in frames if frame.name == "agent-item-appended"]


def _by_sseclient(content: bytes) -> list[Mapping[str, Any]]:
    def source() -> Iterator[bytes]:
        yield content

    events = SSEClient(source()).events()
    return [json.loads(event.data) for event in events if event.event == "agent-item-appended"]


def _by_httpx(content: bytes) -> list[Mapping[str, Any]]:
    headers = {"Content-Type": "text/event-stream"}
    source = EventSource(httpx.Response(200, headers=headers, content=content))
    return [json.loads(e.data) for e in source.iter_sse() if e.event == "agent-item-appended"]


@pytest.mark.parametrize("read", [_by_us, _by_sseclient, _by_httpx])
async def test_text_arrives_as_it_was_in_every_reader(api: ApiHouse, read: Any) -> None:
    """Ends of lines of every alphabet, NUL, and what looks like a frame of its own."""
    chat = await api.house.chat([say("hello")])
    await api.house.turn(chat, STRANGE)
    content = b""
    async with aclosing(
        _bytes_of(api, f"/v1/sessions/{chat}/events?after={api.hub.log_id}.0")
    ) as pieces:
        async for piece in pieces:
            content += piece
            if b"event: live\n" in content and content.endswith(b"\n\n"):
                break

    items = [data["body"]["item"] for data in read(content)]
    assert items[0]["content"] == STRANGE
    assert b"\nevent: forged" not in content


@pytest.mark.parametrize(
    "cursor", ["-1", "9e99", "'; DROP TABLE event", "", "x" * 5000, "log.", "log.-1", "%00"]
)
async def test_an_absurd_cursor_is_refused(api: ApiHouse, cursor: str) -> None:
    """Before the stream begins, with its own code; a page likewise."""
    with pytest.raises(BadCursor):
        await heard_until(api, "live", after=cursor)
    if len(cursor) < 2000:
        with pytest.raises(BadCursor):
            await api.client().do(calls.events(after=cursor))


async def test_a_stream_of_nobody_is_not_found(api: ApiHouse) -> None:
    """And tells nothing of anybody else."""
    with pytest.raises(UnknownSession):
        await heard_until(api, "live", session_id="ses_nobody")


async def test_a_cursor_of_another_session_brings_nothing_of_it(api: ApiHouse) -> None:
    """It only says where to go on in the session that is asked for."""
    mine, other = await api.house.chat([say("mine")]), await api.house.chat([say("other")])
    await api.house.turn(other)
    start = api.hub.cursor(api.hub.head)
    await api.house.turn(mine)
    heard = await heard_until(api, "live", session_id=mine, after=start)

    assert {frame.data["stream"] for frame in heard if "version" in frame.data} == {mine}


async def test_a_client_that_goes_before_its_first_frame_gives_its_place_back(
    api: ApiHouse, tmp_path: Path
) -> None:
    """Its headers could not be written any more, so nothing of its stream ever ran."""

    async def gone(request: web.Request, response: web.StreamResponse) -> None:
        raise ConnectionResetError("the client has gone")

    app = application(api.services)
    app.on_response_prepare.append(gone)
    runner = web.AppRunner(app, logger=logging.getLogger("nobody"))
    await runner.setup()
    with tempfile.TemporaryDirectory(prefix="spaced-", dir="/tmp") as name:
        await web.UnixSite(runner, f"{name}/s").start()
        place = Place(socket=f"{name}/s")
        with pytest.raises(DaemonGone):
            async with aclosing(Client(place).events(patience=0)) as frames:
                await anext(frames)
        await runner.cleanup()

    assert api.hub.count == 0


async def test_a_log_that_cannot_be_read_further_ends_a_stream_with_the_reason(
    house: House,
) -> None:
    """The client raises it; coming back again and again would help nobody."""
    chat = await house.chat([say("hello")])

    class Damaged:
        def __getattr__(self, name: str) -> Any:
            return getattr(house.storage, name)

        async def read_all(self, **wanted: Any) -> Any:
            raise CorruptStream(f"the stream {chat!r} contradicts itself")

    async with api_over(house, storage=Damaged()) as api:
        with pytest.raises(CorruptStream, match=chat):
            await heard_until(api, "live", after=f"{api.hub.log_id}.0")


async def test_one_too_many_is_told_to_come_back(house: House) -> None:
    """With 503 and a time, and the others go on."""
    async with api_over(house, most=1) as api, aclosing(api.client().events()) as first:
        assert (await anext(first)).name == "hello"
        with pytest.raises(TooManyStreams):
            await heard_until(api, "live")


async def test_a_reader_that_never_reads_is_dropped_and_harms_nobody(house: House) -> None:
    """Its connection is cut, its memory is given back, and prompts are admitted meanwhile."""
    async with api_over(house, stall_ms=300, longest_queue=2_000_000) as api:
        await write_events(house, 40_000)
        reader, writer = await asyncio.open_unix_connection(str(api.place.socket), limit=1024)
        writer.write(
            b"GET /v1/events?after=" + api.hub.cursor(0).encode() + b" HTTP/1.1\r\n"
            b"Host: x\r\nAccept: text/event-stream\r\n\r\n"
        )
        await writer.drain()
        await reader.readline()
        chat = await house.chat([say("hello")])
        await api.client().prompt(chat, "hello")
        await house.idle(chat)
        async with asyncio.timeout(PATIENCE):
            while api.hub.count:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        writer.close()


async def test_pages_hold_the_same_as_the_stream(api: ApiHouse) -> None:
    """Page by page, to the end, and then whatever comes."""
    chat = await api.house.chat([say("hello")])
    for _ in range(5):
        await api.house.turn(chat)
    told: list[str] = []
    after: str | None = None
    more = True
    while more:
        page = await api.client().do(calls.events(chat, after=after, limit=7))
        told += [event.cursor for event in page.events]
        after, more = page.next_cursor, page.more
    streamed = await heard_until(api, "live", session_id=chat, after=f"{api.hub.log_id}.0")
    await api.house.turn(chat)
    later = await api.client().do(calls.events(chat, after=after))

    assert told == durable(streamed)
    assert later.events[0].kind == "prompt-admitted"
