"""Admitting prompts: alone, while other sessions stream, and many at once."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from itertools import count
from typing import TypeVar

from spaced.clock import Timestamp
from spaced.engine.announcements import Announcement, Committed
from spaced.log.fact import new_event
from spaced.log.record import NewEvent, StreamWrite
from spaced.storage.protocol import Storage
from tests.benchmarks.chats import Chat, message, new_chat, open_storage, prompt_of
from tests.benchmarks.engines import Host
from tests.benchmarks.floors import CommitFloor
from tests.benchmarks.measure import (
    Line,
    alternate,
    at_least,
    at_most,
    compare,
    compare_medians,
    median,
    timed,
)
from tests.benchmarks.stage import Stage
from tests.benchmarks.streaming import Streams
from tests.benchmarks.unshared import unshared

_T = TypeVar("_T")

_CLIENTS = 64
_STREAMS = 50
_PAUSE_SECONDS = 0.003
_COLD_BLOCK = 4
_LONG_QUEUE = 500
_MOMENT = Timestamp(1_760_000_000_000)


class Client:
    """One client that admits prompts, a few to each of its sessions."""

    def __init__(self, host: Host, session_ids: Sequence[str], each: int) -> None:
        self._host = host
        self._session_ids = session_ids
        self._each = each
        self._numbers = count()

    async def admit(self) -> None:
        """Admit the next prompt."""
        await self._host.admit(self._session_ids[next(self._numbers) // self._each])


def prompt_bytes() -> bytes:
    """Return the body of a prompt."""
    session_id = f"ses_{1:026d}"
    event = prompt_of(session_id, 1)
    return new_event(event, created_at=_MOMENT, session_id=session_id).body


async def new_client(host: Host, rounds: int, block: int) -> Client:
    """Return a client with a fresh session for each round's block, as a queue is short in life."""
    return Client(host, await host.chats(rounds + 1), block)


async def one_client(stage: Stage) -> list[Line]:
    """Admit prompts one after the other."""
    host = await Host.open(stage.new_folder())
    floor = CommitFloor(stage.new_folder())
    chat = await new_chat(host.storage, "ses_one")
    client = await new_client(host, stage.sizes.rounds, stage.sizes.block)
    body = prompt_bytes()

    async def append_item() -> None:
        await chat.append(*message(chat.new_item_id(), "Done. " * 60))

    admits, raws, items, floors = await alternate(
        client.admit,
        lambda: _append(host.storage, chat, bulk=False),
        append_item,
        lambda: floor.commit(body),
        rounds=stage.sizes.rounds,
        block=stage.sizes.block,
        settle=host.settle,  # comes back when no checkpoint is on its way
    )
    await host.close()
    floor.close()
    return [
        *compare("admit, one client", admits, floors, middle=at_most(2.5), tail=at_most(5)),
        *compare("bare storage append of the same", raws, floors),
        *compare("append of a whole item (3 events, 2 rows, words)", items, floors),
    ]


async def rare_admissions(stage: Stage) -> list[Line]:
    """Admit to sessions that nobody has used since the start, and behind a long queue."""
    folder = stage.new_folder()
    host = await Host.open(folder)
    floor = CommitFloor(stage.new_folder())
    session_ids = await host.chats((stage.sizes.rounds + 1) * _COLD_BLOCK)
    crowded = await host.chat()
    for _ in range(_LONG_QUEUE):
        await host.admit(crowded)
    await host.close()
    host = await Host.open(folder)
    cold, long, floors = await alternate(
        Client(host, session_ids, 1).admit,
        lambda: host.admit(crowded),
        lambda: floor.commit(prompt_bytes()),
        rounds=stage.sizes.rounds,
        block=_COLD_BLOCK,
        settle=host.settle,
    )
    await host.close()
    floor.close()
    return [
        compare_medians("admit, first since the start to its session", cold, floors),
        compare_medians(f"admit, behind {_LONG_QUEUE} that wait", long, floors),
    ]


async def beside_streams(stage: Stage) -> list[Line]:
    """Admit prompts while the agents of fifty sessions stream."""
    streams = Streams(_STREAMS)
    host = await Host.open(stage.new_folder(), before_text=streams.before_text)
    floor = CommitFloor(stage.new_folder())
    rounds, block, body = stage.sizes.rounds // 2, stage.sizes.block * 2, prompt_bytes()
    client = await new_client(host, rounds, block)
    never = asyncio.Event()
    appends = 0

    async def admit_at_ease() -> float:
        with suppress(TimeoutError):
            async with asyncio.timeout(_PAUSE_SECONDS):
                await never.wait()
        return await timed(client.admit)

    def note_commit(announced: Announcement) -> None:
        nonlocal appends
        if isinstance(announced, Committed):
            appends += len({event.stream for event in announced.events})

    await streams.begin(host)
    host.engine.announcements.listen(note_commit)
    admits: list[float] = []
    floors: list[float] = []
    for number in range(rounds + 1):
        streams.go_on()
        found = [await admit_at_ease() for _ in range(block)]
        await streams.stand_still()
        await host.settle()
        least = [await timed(lambda: floor.commit(body)) for _ in found]
        if number:
            admits += found
            floors += least
    pieces = streams.pieces / streams.seconds
    others = (appends - (rounds + 1) * block) / streams.seconds
    streams.let_go()
    await host.close()
    floor.close()
    note = (
        f"meanwhile {pieces:.0f} pieces of 60 B and {others:.0f} other appends of events a second"
    )
    return compare("admit, 50 sessions streaming", admits, floors, middle=at_most(6), note=note)


async def many_clients(stage: Stage) -> list[Line]:
    """Let 64 clients admit at once."""
    storage = await open_storage(stage.new_folder())
    host = await Host.open(stage.new_folder())
    alone = await Host.open(stage.new_folder(), through=unshared)
    floor = CommitFloor(stage.new_folder())
    chats = [await new_chat(storage, f"ses_{index:02d}") for index in range(_CLIENTS)]
    session_ids, alone_ids = await host.chats(_CLIENTS), await alone.chats(_CLIENTS)
    body = prompt_bytes()

    async def floor_in_sequence() -> None:
        for _ in range(_CLIENTS):
            await floor.commit(body)

    async def settle() -> None:
        for other in (storage, host.storage, alone.storage):
            await other.append([])

    shared, single, engine, lonely, floors = await alternate(
        lambda: _at_once(chats, lambda chat: _append(storage, chat, bulk=False)),
        # A bulk append shares its commit with nobody; everything else on its way is the same.
        lambda: _at_once(chats, lambda chat: _append(storage, chat, bulk=True)),
        lambda: _at_once(session_ids, host.admit),
        lambda: _at_once(alone_ids, alone.admit),
        floor_in_sequence,
        rounds=stage.sizes.rounds // 2,
        block=2,
        settle=settle,
    )
    await host.close()
    await alone.close()
    await storage.close()
    floor.close()
    appends, admits = "64 clients, bare storage appends", "64 clients admit"
    return [
        _throughput(f"{appends}: shared commits against one commit each", shared, single, 3.0),
        _throughput(f"{appends}: shared commits against 64 bare commits", shared, floors, None),
        _throughput(f"{admits}: shared commits against one commit each", engine, lonely, 3.0),
        _throughput(f"{admits}: shared commits against 64 bare commits", engine, floors, None),
    ]


def _throughput(
    moment: str, product: Sequence[float], floor: Sequence[float], limit: float | None
) -> Line:
    fast, slow = (_CLIENTS / median(times) * 1000 for times in (product, floor))
    return Line(
        moment=moment,
        value=fast / slow,
        budget=None if limit is None else at_least(limit),
        product=fast,
        floor=slow,
        amount_unit="1/s",
    )


async def _at_once(
    clients: Sequence[_T], work: Callable[[_T], Coroutine[object, object, None]]
) -> None:
    async with asyncio.TaskGroup() as group:
        for client in clients:
            group.create_task(work(client))


async def _append(storage: Storage, chat: Chat, *, bulk: bool) -> None:
    write = StreamWrite(
        stream=chat.session_id, expected_version=chat.version, events=[_event(chat)]
    )
    await storage.append([write], bulk=bulk)
    chat.version += 1


def _event(chat: Chat) -> NewEvent:
    return new_event(chat.prompt(), created_at=_MOMENT, session_id=chat.session_id)
