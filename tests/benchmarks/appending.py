"""Admitting prompts: alone, while other sessions stream, and many at once."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress

from spaced.clock import Timestamp
from spaced.log.fact import new_event
from spaced.log.record import NewEvent, RecordedEvent, StreamWrite
from spaced.storage.protocol import Storage
from tests.benchmarks.chats import Chat, message, new_chat, open_storage
from tests.benchmarks.floors import CommitFloor
from tests.benchmarks.measure import (
    Line,
    alternate,
    at_least,
    at_most,
    compare,
    median,
    timed,
)
from tests.benchmarks.stage import Stage
from tests.benchmarks.streaming import Streams

_CLIENTS = 64
_STREAMS = 50
_PAUSE_SECONDS = 0.003
_MOMENT = Timestamp(1_760_000_000_000)


def prompt_bytes(chat: Chat) -> bytes:
    """Return the body of a prompt."""
    return _event(chat).body


async def one_client(stage: Stage) -> list[Line]:
    """Admit prompts one after the other."""
    storage = await open_storage(stage.new_folder())
    floor = CommitFloor(stage.new_folder())
    chat = await new_chat(storage, "ses_one")
    body = prompt_bytes(chat)

    async def append_raw() -> None:
        write = StreamWrite(
            stream=chat.session_id, expected_version=chat.version, events=[_event(chat)]
        )
        await storage.append([write])
        chat.version += 1

    async def append_item() -> None:
        await chat.append(*message(chat.new_item_id(), "Done. " * 60))

    admits, raws, items, floors = await alternate(
        chat.admit,
        append_raw,
        append_item,
        lambda: floor.commit(body),
        rounds=stage.sizes.rounds,
        block=stage.sizes.block,
        settle=lambda: storage.append([]),  # comes back when no checkpoint is on its way
    )
    await storage.close()
    floor.close()
    return [
        *compare("admit, one client", admits, floors, middle=at_most(2.5), tail=at_most(5)),
        *compare("bare storage append of the same", raws, floors),
        *compare("append of a whole item (3 events, 2 rows, words)", items, floors),
    ]


async def beside_streams(stage: Stage) -> list[Line]:
    """Admit prompts while fifty sessions stream."""
    storage = await open_storage(stage.new_folder())
    floor = CommitFloor(stage.new_folder())
    chat = await new_chat(storage, "ses_one")
    body = prompt_bytes(chat)
    pause = asyncio.Event()  # never set: waiting for it is how the client takes its time

    async def admit_at_ease() -> float:
        with suppress(TimeoutError):
            async with asyncio.timeout(_PAUSE_SECONDS):
                await pause.wait()
        return await timed(chat.admit)

    admits: list[float] = []
    floors: list[float] = []
    appends = 0

    def note_commit(events: Sequence[RecordedEvent]) -> None:
        nonlocal appends
        appends += len({event.stream for event in events} - {chat.session_id})

    storage.on_committed = note_commit
    async with Streams(storage, _STREAMS) as streams:
        for number in range(stage.sizes.rounds // 2 + 1):
            streams.go_on()
            found = [await admit_at_ease() for _ in range(stage.sizes.block * 2)]
            await streams.stand_still()
            await storage.append([])
            least = [await timed(lambda: floor.commit(body)) for _ in found]
            if number:
                admits += found
                floors += least
        pieces, others = streams.deltas / streams.seconds, appends / streams.seconds
    await storage.close()
    floor.close()
    note = (
        f"meanwhile {pieces:.0f} pieces of 60 B and {others:.0f} other appends of events a second"
    )
    return compare("admit, 50 sessions streaming", admits, floors, middle=at_most(6), note=note)


async def many_clients(stage: Stage) -> list[Line]:
    """Let 64 clients admit at once."""
    storage = await open_storage(stage.new_folder())
    floor = CommitFloor(stage.new_folder())
    chats = [await new_chat(storage, f"ses_{index:02d}") for index in range(_CLIENTS)]
    body = prompt_bytes(chats[0])

    async def floor_in_sequence() -> None:
        for _ in chats:
            await floor.commit(body)

    shared, single, journal, floors = await alternate(
        lambda: _at_once(chats, lambda chat: _append(storage, chat, bulk=False)),
        # A bulk append shares its commit with nobody; everything else on its way is the same.
        lambda: _at_once(chats, lambda chat: _append(storage, chat, bulk=True)),
        lambda: _at_once(chats, Chat.admit),
        floor_in_sequence,
        rounds=stage.sizes.rounds // 2,
        block=3,
        settle=lambda: storage.append([]),
    )
    await storage.close()
    floor.close()
    return [
        _throughput("64 clients: shared commits against one commit each", shared, single, 3.0),
        _throughput("64 clients: shared commits against 64 bare commits", shared, floors, None),
        _throughput(
            "64 clients through the journal against 64 bare commits", journal, floors, None
        ),
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
    chats: Sequence[Chat], work: Callable[[Chat], Coroutine[object, object, None]]
) -> None:
    async with asyncio.TaskGroup() as group:
        for chat in chats:
            group.create_task(work(chat))


async def _append(storage: Storage, chat: Chat, *, bulk: bool) -> None:
    write = StreamWrite(
        stream=chat.session_id, expected_version=chat.version, events=[_event(chat)]
    )
    await storage.append([write], bulk=bulk)
    chat.version += 1


def _event(chat: Chat) -> NewEvent:
    return new_event(chat.prompt(), created_at=_MOMENT, session_id=chat.session_id)
