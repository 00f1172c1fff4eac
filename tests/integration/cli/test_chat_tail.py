"""Frames of a stream, printed as they come, against the API of a real engine."""

import asyncio
import io
import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from spaced.cli.chat.tailing import Tail, Tailing, closing_noticed
from spaced.client import calls
from spaced.client.client import Client
from spaced.client.place import Place
from spaced.errors import SpacedError
from spaced.refusals import NoDaemon, UnknownSession
from spaced.testing.fake_clock import FakeClock
from spaced.testing.samples import next_turn
from tests.integration.api.api_house import ApiHouse, api_over
from tests.integration.engine.house import House, Houses, gate, say

PATIENCE = 20


@pytest.fixture
async def api(house: House) -> AsyncIterator[ApiHouse]:
    """The API over one engine."""
    async with api_over(house) as served:
        yield served


async def beginning(api: ApiHouse) -> str:
    """Return the cursor at which the log begins."""
    return api.hub.cursor(0)


async def told_of(api: ApiHouse, chat: str) -> list[tuple[int, str]]:
    """Return version and kind of every event of a session, as a page of the API has them."""
    page = await api.client().do(calls.events(chat))
    assert not page.more
    return [(event.version, event.kind) for event in page.events]


async def tailed(place: Place, session_id: str | None, **wanted: Any) -> str:
    """Return what is printed until the session is idle."""
    out = io.StringIO()
    clock = FakeClock()
    told: dict[str, Any] = {"after": None, "kinds": None, "until_idle": True, "as_json": False}
    tail = Tail(session_id=session_id, **{**told, **wanted})
    async with asyncio.timeout(PATIENCE):
        await Tailing(Client(place), tail, clock=clock, out=out, err=io.StringIO()).run()
    return out.getvalue()


async def test_what_happened_is_printed_in_order(house: House, api: ApiHouse) -> None:
    """One line for each event, from a cursor on, until nothing goes on any more."""
    chat = await house.chat([say("Good morning.")])
    await house.turn(chat, "hello")

    lines = (await tailed(api.place, chat, after=await beginning(api))).splitlines()

    assert [line.split()[1] for line in lines] == [kind for _, kind in await told_of(api, chat)]
    assert any(line.endswith("user message: hello") for line in lines)


async def test_json_has_name_cursor_and_data(house: House, api: ApiHouse) -> None:
    """One object for each frame, in letters that no terminal obeys."""
    chat = await house.chat([say("\u202e\x9b")])
    await house.turn(chat, "hello")

    text = await tailed(api.place, chat, after=await beginning(api), as_json=True)

    frames = [json.loads(line) for line in text.splitlines()]
    assert text.isascii()
    assert frames[0]["name"] == "hello"
    assert frames[-1]["name"] == "live"
    durable = [(f["data"]["version"], f["name"]) for f in frames if f["cursor"]]
    assert durable == await told_of(api, chat)


async def test_only_the_kinds_that_were_asked_for_are_printed(house: House, api: ApiHouse) -> None:
    """Also while it waits for the end of a turn, which other kinds tell of."""
    chat = await house.chat([say("One."), gate(), say("Two.")])
    await house.send(chat, "hello")
    await house.reached()
    kinds = ["turn-started", "turn-ended"]
    printing = asyncio.ensure_future(
        tailed(api.place, chat, after=await beginning(api), kinds=kinds)
    )
    while not api.hub.count:
        await next_turn()
    house.runtime.gates.open("gate")

    lines = (await printing).splitlines()

    assert [line.split()[1] for line in lines] == kinds


async def test_everything_is_printed_with_its_session(house: House, api: ApiHouse) -> None:
    """Without a session it is the whole log."""
    chats = [await house.chat([say("One.")]) for _ in range(2)]

    text = await tailed(api.place, None, after=await beginning(api))

    assert all(chat in text for chat in chats)


async def test_a_session_that_does_not_exist_is_said_at_once(api: ApiHouse) -> None:
    """Nobody waits for what will never come."""
    with pytest.raises(UnknownSession):
        await tailed(api.place, "ses_nothing")


async def test_a_daemon_that_is_not_there_is_said_at_once() -> None:
    """Waiting is for one that was there."""
    with pytest.raises(NoDaemon):
        await tailed(Place(socket="/tmp/spaced-nobody.sock"), None)


async def test_it_goes_on_over_a_restart_without_a_gap(
    houses: Houses, house: House, tmp_path: Path
) -> None:
    """Each event once, and a word on the side about the time in between."""
    socket = Path("/tmp") / f"spaced-tail-{os.getpid()}-{id(houses)}.sock"
    chat = await house.chat([{"do": "echo"}])
    out, err, clock = io.StringIO(), io.StringIO(), FakeClock()
    client = Client(Place(socket=str(socket)), pause=lambda s: clock.sleep(int(s * 1000)))
    tail = Tail(session_id=chat, after=None, kinds=None, until_idle=False, as_json=True)
    async with AsyncExitStack() as stack:
        stack.callback(socket.unlink, missing_ok=True)
        async with api_over(house) as first:
            socket.symlink_to(str(first.place.socket))
            tailing = asyncio.ensure_future(
                Tailing(client, tail, clock=clock, out=out, err=err).run()
            )
            while '"live"' not in out.getvalue():
                await next_turn()
            await house.turn(chat, "first")
        while "away" not in err.getvalue():
            clock.advance(seconds=3)
            await next_turn()
        second_life = await houses.restart(house)
        second = await stack.enter_async_context(api_over(second_life))
        socket.unlink()
        socket.symlink_to(str(second.place.socket))
        await second_life.turn(chat, "second")
        while out.getvalue().count('"turn-ended"') < 4:  # the name of a frame, and its kind
            clock.advance(seconds=3)
            await next_turn()
        everything = await told_of(second, chat)
        tailing.cancel()
        with suppress(asyncio.CancelledError, SpacedError):
            await tailing

    frames = [json.loads(line) for line in out.getvalue().splitlines()]
    told = [(f["data"]["version"], f["name"]) for f in frames if f["cursor"]]
    assert told == [one for one in everything if told[0] <= one <= told[-1]]
    assert err.getvalue().splitlines() == ["the daemon is away, waiting …", "the daemon is back"]


async def test_a_reader_that_goes_away_is_noticed_while_nothing_happens() -> None:
    """A session that is idle prints nothing for hours."""
    read, write = os.pipe()
    closed = asyncio.Event()
    with os.fdopen(write, "w") as out, closing_noticed(out, closed):
        os.close(read)
        async with asyncio.timeout(PATIENCE):
            await closed.wait()
