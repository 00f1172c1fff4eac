"""Opening a storage: large against empty, and after a kill against after an orderly end."""

import asyncio
import shutil
import sys
from pathlib import Path

from tests.benchmarks.chats import open_storage
from tests.benchmarks.measure import Line, at_most, median, timed
from tests.benchmarks.stage import Stage


async def start(stage: Stage) -> list[Line]:
    """Open a large and an empty storage in turn."""
    large, empty = await stage.large_folder(), stage.new_folder()
    await _open_and_close(empty)
    times: dict[Path, list[float]] = {large: [], empty: []}
    for _ in range(stage.sizes.heavy_rounds * 2):
        for folder, found in times.items():
            found.append(await _open_and_close(folder))
    await _write_and_die(large)
    after_kill = await _open_and_close(large)
    more = median(times[large]) - median(times[empty])
    events = f"{stage.sizes.events:,} events"
    return [
        Line(
            moment=f"start: what {events} add to an empty storage",
            value=more,
            unit="ms",
            budget=at_most(50),
            product=median(times[large]),
            floor=median(times[empty]),
        ),
        Line(
            moment=f"start with {events} after a kill: what it adds to an empty storage",
            value=after_kill - median(times[empty]),
            unit="ms",
            budget=at_most(200),
            product=after_kill,
            floor=median(times[empty]),
            note="measured once; the WAL held about 6 MB",
        ),
    ]


async def start_after_kill(stage: Stage) -> list[Line]:
    """Open a storage whose process was killed, and the same after an orderly end."""
    crashed = stage.new_folder()
    await _open_and_close(crashed)
    await _write_and_die(crashed)
    killed: list[float] = []
    clean: list[float] = []
    for _ in range(stage.sizes.heavy_rounds):
        folder = stage.new_folder()
        shutil.copytree(crashed, folder)
        killed.append(await _open_and_close(folder))
        clean.append(await _open_and_close(folder))
        shutil.rmtree(folder)
    wal = (crashed / "spaced.db-wal").stat().st_size
    return [
        Line(
            moment="start after a kill: what it adds to a start after an orderly end",
            value=median(killed) - median(clean),
            unit="ms",
            budget=at_most(200),
            product=median(killed),
            floor=median(clean),
            note=f"a WAL of {wal / 1e6:.1f} MB to recover",
        )
    ]


async def _open_and_close(folder: Path) -> float:
    """Return the milliseconds until a storage answers its first question."""
    storage = None

    async def first_answer() -> None:
        nonlocal storage
        storage = await open_storage(folder)
        await storage.head()

    taken = await timed(first_answer)
    assert storage is not None
    await storage.close()
    return taken


async def _write_and_die(folder: Path) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.benchmarks.killed_writer", str(folder)
    )
    code = await child.wait()
    assert code < 0, f"the writer was to be killed, but it ended with {code}"
