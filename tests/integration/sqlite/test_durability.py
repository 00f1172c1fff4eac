"""An answer means that the operating system was made to write."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spaced.testing.samples import read_log
from tests.integration.sqlite.places import opened

ROOT = Path(__file__).parents[3]

PROGRAM = '''
"""Appends once, saying before and after what happens."""
import asyncio, os, sys
from pathlib import Path
from spaced.testing.samples import start
from tests.integration.sqlite.places import opened

async def main():
    async with opened(Path(sys.argv[1])) as storage:
        await storage.append([start("warm-up")])
        for number in range(5):
            os.write(1, b"asked\\n")
            await storage.append([start(f"run-{number}")])
            os.write(1, b"answered\\n")
            os.write(1, b"putting\\n")
            await storage.put_blob(b"picture %d" % number)
            os.write(1, b"put\\n")
asyncio.run(main())
'''

WRITER = '''
"""Appends for ever, printing each version that was answered."""
import asyncio, os, sys
from pathlib import Path
from spaced.testing.samples import event, write
from tests.integration.sqlite.places import opened

async def main():
    async with opened(Path(sys.argv[1])) as storage:
        version = 0
        while True:
            await storage.append([write("run-1", version, event())])
            version += 1
            os.write(1, b"%d\\n" % version)
asyncio.run(main())
'''


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'plugins'}"}


def _between(trace: str, begin: str, end: str) -> list[str]:
    return re.findall(rf'"{begin}\\n".*?"{end}\\n"', trace, re.DOTALL)


def test_a_sync_comes_before_each_answer(folder: Path, tmp_path: Path) -> None:
    """What the process asks of the kernel shows it; a killed process alone would not."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs strace on the PATH")
    trace = tmp_path / "trace"
    program = [sys.executable, "-c", PROGRAM, str(folder)]
    calls = "trace=fdatasync,fsync,write"
    run = subprocess.run(
        [strace, "-f", "-y", "-e", calls, "-o", str(trace), *program],
        check=False,
        capture_output=True,
        cwd=ROOT,
        env=_environment(),
    )
    if run.returncode != 0 and b"ptrace" in run.stderr:
        pytest.skip("needs the right to trace processes with strace")
    assert run.returncode == 0, run.stderr.decode()

    recorded = trace.read_text()
    appends, puts = _between(recorded, "asked", "answered"), _between(recorded, "putting", "put")
    assert len(appends) == len(puts) == 5
    for append in appends:
        assert re.search(r"f(data)?sync\(\d+<[^>]*/spaced\.db-wal>", append)
    for put in puts:
        assert re.search(r"fsync\(\d+<[^>]*/blobs/../part-[^>]*>", put), "the content"
        assert re.search(r"fsync\(\d+<[^>]*/blobs/..>", put), "its name"


def test_every_answered_append_survives_a_kill(folder: Path) -> None:
    """The process dies without a word; all that it said was written is there, without a gap."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=_environment(),
    )
    assert process.stdout is not None
    with process:
        answered = [process.stdout.readline() for _ in range(200)]
        process.send_signal(signal.SIGKILL)
        answered += process.stdout.readlines()
    last = max(int(line) for line in answered if line.endswith(b"\n"))

    versions = asyncio.run(_versions(folder))
    assert versions[:last] == list(range(1, last + 1))
    assert len(versions) <= last + 1


async def _versions(folder: Path) -> list[int]:
    async with opened(folder) as storage:
        return [event.version for event in await read_log(storage)]
