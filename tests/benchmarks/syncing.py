"""Syncing a folder of workflow files: unchanged, with one change, from nothing, and beside users."""

import asyncio
import hashlib
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter

from ruamel.yaml import YAML

from spaced.clock import SystemClock
from spaced.sync.book import SyncBook
from spaced.sync.runs import SyncRuns
from tests.benchmarks.appending import new_client, prompt_bytes
from tests.benchmarks.engines import Host
from tests.benchmarks.floors import CommitFloor
from tests.benchmarks.measure import Line, alternate, at_most, compare, compare_medians, timed
from tests.benchmarks.stage import Stage

_BEAT_SECONDS = 0.001

_STEP = """\
      - name: Stage {number}
        position: {number}
        allow_manual_move: true
        prompt: |
          # Stage {number} of file {file}
          Read what the stage before has left, do the part that is yours, and say what is open.

          {{{{task_prompt}}}}
        events:
          on_enter:
            - type: auto_start_agent
          on_turn_complete:
            - type: move_to_next
              config: {{requires_approval: true}}
"""


def text_of(file: int, change: int = 0) -> str:
    """Return a workflow file of five steps, about two kilobytes long."""
    head = (
        "version: 1\ntype: kandev_workflow\nworkflows:\n"
        f"  - name: Flow {file}\n    description: Change {change}\n    steps:\n"
    )
    return head + "".join(_STEP.format(number=number, file=file) for number in range(5))


def _write(path: Path, files: int) -> None:
    path.mkdir()
    for number in range(files):
        (path / f"{number:04}.yml").write_text(text_of(number))


class Folder:
    """A source over an engine, with its files."""

    def __init__(self, host: Host, path: Path, source_id: str) -> None:
        self._host = host
        self.path = path
        self._source_id = source_id
        self._changes = count(1)
        book = SyncBook(host.storage)
        self.runs = SyncRuns(host.engine, book, SystemClock().now)

    @classmethod
    async def open(cls, host: Host, path: Path, files: int) -> "Folder":
        """Write the files and define the source; nothing is read yet."""
        _write(path, files)
        record = await host.engine.sync_sources.add(str(path))
        return cls(host, path, record.id)

    async def run(self) -> None:
        """Run the source."""
        await self.runs.run(self._source_id)

    async def change_one(self) -> None:
        """Change a file and run the source."""
        (self.path / "0000.yml").write_text(text_of(0, next(self._changes)))
        await self.run()

    async def read_and_hash(self) -> None:
        """Do what a run cannot do without: a look at each file, and a digest of its bytes."""
        for path in sorted(self.path.iterdir()):
            path.stat()
            hashlib.sha256(path.read_bytes()).hexdigest()

    async def parse(self) -> None:
        """Let the library alone load every file."""
        for path in sorted(self.path.iterdir()):
            YAML(typ="safe", pure=True).load(path.read_bytes())


async def sync(stage: Stage) -> list[Line]:
    """Run a source: from nothing, unchanged, and with one file that changes each time."""
    files = stage.sizes.workflow_files
    host = await Host.open(stage.new_folder())
    folder = await Folder.open(host, stage.new_folder(), files)
    cold: list[float] = []
    with_beat = Beat()
    async with with_beat:
        cold.append(await timed(folder.run))
    lines = [
        compare_medians(
            f"sync {files} files, cold", cold, [await timed(folder.parse)], at_most(1.2)
        )
    ]
    lines.append(
        Line(
            moment="longest that the event loop stood still meanwhile",
            value=with_beat.longest * 1000,
            unit="ms",
            budget=at_most(20),
        )
    )
    rounds = stage.sizes.heavy_rounds
    unchanged, floor = await alternate(folder.run, folder.read_and_hash, rounds=rounds)
    lines.append(compare_medians(f"sync {files} files, unchanged", unchanged, floor, at_most(3)))
    (one,) = await alternate(folder.change_one, rounds=rounds)
    lines.append(
        Line(
            moment="one changed file, to applied",
            value=sorted(one)[len(one) // 2],
            unit="ms",
            budget=at_most(60),
        )
    )
    await host.close()
    return lines


async def admit_beside_sync(stage: Stage) -> list[Line]:
    """Admit prompts while a folder is read for the first time."""
    host = await Host.open(stage.new_folder())
    folder = await Folder.open(host, stage.new_folder(), stage.sizes.workflow_files)
    floor = CommitFloor(stage.new_folder())
    body = prompt_bytes()
    client = await new_client(host, stage.sizes.rounds * 4, stage.sizes.block)
    admits: list[float] = []
    async with asyncio.TaskGroup() as group:
        run = group.create_task(folder.run())
        while not run.done() and len(admits) < stage.sizes.rounds * stage.sizes.block:
            admits.append(await timed(client.admit))
    floors = [await timed(partial(floor.commit, body)) for _ in admits]
    floor.close()
    await host.close()
    return compare(
        "admit beside a first sync", admits, floors, middle=at_most(2.5), tail=at_most(5)
    )


class Beat:
    """Notes for how long the event loop stands still.

    Attributes:
        longest: in seconds.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self._is_over = asyncio.Event()

    async def __aenter__(self) -> None:
        self._task = asyncio.ensure_future(self._beat())

    async def __aexit__(self, *_: object) -> None:
        self._is_over.set()
        await self._task

    async def _beat(self) -> None:
        while not self._is_over.is_set():
            begun = perf_counter()
            with suppress(TimeoutError):
                async with asyncio.timeout(_BEAT_SECONDS):
                    await self._is_over.wait()
            self.longest = max(self.longest, perf_counter() - begun - _BEAT_SECONDS)
