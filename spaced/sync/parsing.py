"""Parses files without holding anybody up: a few in a thread, many in processes of their own."""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from spaced.portable.findings import finding
from spaced.portable.tree import START
from spaced.sync.files import FileVerdict, FoundFile
from spaced.sync.reader import LENGTH, Work
from spaced.sync.verdicts import verdict_of

_FEW: Final = 4
_SMALL: Final = 64 * 1024
"""Files and bytes up to which a thread will do; a process takes a while to start."""
_MOST_READERS: Final = 2
_PATIENCE_SECONDS: Final = 60
"""How long one file may take; the largest that is read at all takes a tenth of it."""

_VERDICT: Final = msgspec.msgpack.Decoder(FileVerdict)


async def parse(files: Sequence[FoundFile], source_id: str) -> dict[str, FileVerdict]:
    """Return what files say, by name."""
    if len(files) <= _FEW and sum(len(file.content) for file in files) <= _SMALL:
        return {file.name: await asyncio.to_thread(verdict_of, file, source_id) for file in files}
    number = min(_MOST_READERS, len(files), os.cpu_count() or 1)
    shares = [list(files[place::number]) for place in range(number)]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_share(share, source_id)) for share in shares]
    return {verdict.name: verdict for task in tasks for verdict in task.result()}


async def _share(files: list[FoundFile], source_id: str) -> list[FileVerdict]:
    """Return the verdicts of some files; one that a reader does not survive costs only itself."""
    verdicts: list[FileVerdict] = []
    while len(verdicts) < len(files):
        verdicts += await _read_on(files[len(verdicts) :], source_id)
        if len(verdicts) < len(files):
            verdicts.append(_given_up(files[len(verdicts)]))
    return verdicts


async def _read_on(files: Sequence[FoundFile], source_id: str) -> list[FileVerdict]:
    """Let one reader go as far as it comes."""
    # Not from the folder that the daemon runs in: what lies there must not be imported.
    command = (sys.executable, "-P", "-m", "spaced.sync.reader")
    reader = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert reader.stdin is not None
    assert reader.stdout is not None
    verdicts: list[FileVerdict] = []
    try:
        async with asyncio.TaskGroup() as group:
            feeding = group.create_task(_feed(reader.stdin, files, source_id))
            for _ in files:
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    head = await reader.stdout.readexactly(LENGTH.size)
                    content = await reader.stdout.readexactly(LENGTH.unpack(head)[0])
                verdicts.append(_VERDICT.decode(content))
            feeding.cancel()
    except* (asyncio.IncompleteReadError, TimeoutError):
        pass  # it died of a file, or is stuck in one: the caller goes on behind that
    finally:
        with suppress(ProcessLookupError):
            reader.kill()
        await reader.wait()
    return verdicts


async def _feed(sink: asyncio.StreamWriter, files: Sequence[FoundFile], source_id: str) -> None:
    # A reader that is gone is noticed by whoever waits for its answers.
    with suppress(ConnectionError):
        for file in files:
            content = msgspec.msgpack.encode(Work(source_id, file))
            sink.write(LENGTH.pack(len(content)) + content)
            await sink.drain()


def _given_up(file: FoundFile) -> FileVerdict:
    found = finding(
        START,
        "unreadable",
        "reading it takes more time or memory than a workflow file may",
        "make it smaller and simpler",
    )
    return FileVerdict(name=file.name, digest=file.digest, is_accepted=False, findings=(found,))
