"""SIGKILL of a writing process at random moments costs nothing that was answered."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spaced.engine.doctor import examine
from spaced.storage.protocol import Storage
from spaced_sqlite.factory import SqliteStorageFactory
from tests.end_to_end.writing_process import WRITERS, place

ROUNDS = 200
ROUNDS_PER_FOLDER = 20
WHOLE_APPENDS = ("agent-status-changed", "prompt-admitted", "agent-item-updated")
REPOSITORY = Path(__file__).parents[2]


@contextmanager
def nursery() -> Iterator[subprocess.Popen[str]]:
    """Run the process that forks writers."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.end_to_end.writing_process"],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=30)


def kill_after(
    process: subprocess.Popen[str], folder: Path, seed: int, answers: int
) -> dict[str, int]:
    """Start a writer, kill it once so many answers came, and return what it answered."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{folder} {seed}\n")
    process.stdin.flush()
    pid = int(process.stdout.readline())
    answered: dict[str, int] = {}
    count = 0
    if answers == 0:
        os.kill(pid, signal.SIGKILL)
    while (line := process.stdout.readline()) != "gone\n":
        stream, version = line.split()
        answered[stream] = int(version)
        count += 1
        if count == answers:
            os.kill(pid, signal.SIGKILL)
    return answered


async def check(storage: Storage, answered: dict[str, int]) -> None:
    """Prove what must hold after a kill, of every stream that is there."""
    found: dict[str, int] = {}
    after = ""
    while heads := await storage.list_streams(after=after, limit=1000):
        for head in heads:
            events = await storage.read_stream(head.stream)
            assert [event.version for event in events] == list(range(1, head.version + 1))
            # An append of an item is three events, so a stream never ends inside one.
            assert events[-1].kind in WHOLE_APPENDS, f"{head.stream}: an append is half there"
            found[head.stream] = head.version
        after = heads[-1].stream
    for stream, version in answered.items():
        # Only the last append of a writer can have been whole without its answer being heard.
        beyond = found.get(stream, 0) - version
        assert beyond in (0, 1, 3), (
            f"{stream}: {version} was answered, {found.get(stream)} is there"
        )


async def check_log(storage: Storage) -> None:
    """Prove that positions ascend without gaps and that rows equal a fresh fold."""
    expected = 1
    while page := await storage.read_all(after=expected - 1, limit=5000):
        assert [e.position for e in page] == list(range(expected, expected + len(page)))
        expected += len(page)
    assert await storage.head() == expected - 1
    assert [finding async for finding in examine(storage)] == []


@pytest.mark.timeout(300)
def test_no_answered_append_is_lost_and_none_is_half_there(tmp_path: Path) -> None:
    """Two hundred writers are killed at random moments, twenty one after another on each log."""
    chance = random.Random(20261201)
    with nursery() as process:
        heard = [
            asyncio.run(_kill_and_check(process, tmp_path / str(first), first, chance))
            for first in range(0, ROUNDS, ROUNDS_PER_FOLDER)
        ]
    assert min(heard) > ROUNDS_PER_FOLDER, "the writers were killed before they wrote anything"


async def _kill_and_check(
    process: subprocess.Popen[str], folder: Path, first: int, chance: random.Random
) -> int:
    """Kill writers on one log, checking it after each; return how far their answers came."""
    heard = 0
    for seed in range(first, first + ROUNDS_PER_FOLDER):
        answers = chance.choice((0, 1, 2, WRITERS, chance.randint(3, 120)))
        answered = kill_after(process, folder, seed, answers)
        assert len(answered) <= WRITERS
        heard += sum(answered.values())
        storage = await SqliteStorageFactory().open(place(folder))
        try:
            await check(storage, answered)
            if seed == first + ROUNDS_PER_FOLDER - 1:
                await check_log(storage)
        finally:
            await storage.close()
    return heard
