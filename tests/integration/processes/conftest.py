"""A supervisor for each test, over real processes."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from spaced.clock import SystemClock
from spaced.runtime.processes.supervisor import ProcessSupervisor
from tests.integration.processes.records import RecordsInMemory


@pytest.fixture
def owner(tmp_path: object) -> str:
    """An owner that no other test has, in this run or in one at the same time."""
    return f"log-{os.getpid()}-{id(tmp_path):x}-{os.urandom(4).hex()}"


@pytest.fixture
def records() -> RecordsInMemory:
    """Where the supervisor records what it starts."""
    return RecordsInMemory()


@pytest.fixture
async def spawn(owner: str, records: RecordsInMemory) -> AsyncIterator[ProcessSupervisor]:
    """The supervisor; when the test ends it closes, and must leave nothing open or recorded."""
    before = _open_descriptors()
    async with ProcessSupervisor(SystemClock(), owner, records) as supervisor:
        yield supervisor
    assert not records.kept
    assert _open_descriptors() == before


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process without our mark that leads a session, as one of an earlier life would."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", "echo ready; exec tail -f /dev/null"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.stdout.close()
    process.kill()
    process.wait()


def _open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))
