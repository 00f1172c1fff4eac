"""Events to append, and what the suites do with storages again and again."""

import asyncio
from collections.abc import Sequence
from typing import Final, TypeAlias

from spaced.clock import Timestamp
from spaced.errors import SpacedError
from spaced.log.record import NewEvent, RecordedEvent, StreamWrite
from spaced.log.table import RowWrite
from spaced.storage.protocol import Appended, Storage
from spaced.testing.fake_clock import START

EVERYTHING: Final = 1_000_000
"""A limit that no test reaches."""

Outcome: TypeAlias = Appended | SpacedError | ValueError
Job: TypeAlias = tuple[Sequence[StreamWrite], Sequence[RowWrite]]


def event(
    body: bytes = b"{}",
    *,
    kind: str = "noted",
    created_at: int = START,
    session_id: str | None = None,
    item_id: str | None = None,
) -> NewEvent:
    """Return an event on its way into the log."""
    moment = Timestamp(created_at)
    return NewEvent(kind=kind, body=body, created_at=moment, session_id=session_id, item_id=item_id)


def numbered(count: int, *, first: int = 1) -> Sequence[NewEvent]:
    """Return events whose bodies count up."""
    return [event(b'{"n":%d}' % number) for number in range(first, first + count)]


def write(stream: str, expected_version: int, *events: NewEvent) -> StreamWrite:
    """Return a write to one stream."""
    return StreamWrite(stream=stream, expected_version=expected_version, events=events)


def start(stream: str, *, count: int = 1) -> StreamWrite:
    """Return the write that begins a stream with some numbered events."""
    return write(stream, 0, *numbered(count))


async def read_log(storage: Storage) -> list[RecordedEvent]:
    """Return the whole log."""
    return list(await storage.read_all(after=0, limit=EVERYTHING))


async def attempt(
    storage: Storage,
    writes: Sequence[StreamWrite],
    rows: Sequence[RowWrite] = (),
    *,
    bulk: bool = False,
) -> Outcome:
    """Append, and return the error where it is refused."""
    try:
        return await storage.append(writes, rows, bulk=bulk)
    except (SpacedError, ValueError) as error:
        return error


async def attempt_at_once(storage: Storage, jobs: Sequence[Job]) -> Sequence[Outcome]:
    """Begin all appends before any of them can end, and return the outcome of each."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(attempt(storage, *job)) for job in jobs]
    return [task.result() for task in tasks]


async def next_turn() -> None:
    """Let everything that is ready on the event loop run once."""
    loop = asyncio.get_running_loop()
    turn = loop.create_future()
    loop.call_soon(turn.set_result, None)
    await turn
