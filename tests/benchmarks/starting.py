"""Starting an engine: over a large log and an empty one, and after a kill."""

import asyncio
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.child import Child
from tests.benchmarks.engines import Host
from tests.benchmarks.measure import Line, at_most, median, timed
from tests.benchmarks.stage import Stage

_SESSIONS = 20


async def start(stage: Stage) -> list[Line]:
    """Start over a large and an empty storage in turn."""
    large, empty = await stage.large_folder(), stage.new_folder()
    for folder in (empty, large):
        await _open_and_close(folder)
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
    """Start over a storage whose process was killed, and over the same after an orderly end."""
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


async def start_in_mid_turn(stage: Stage) -> list[Line]:
    """Start over a log whose process was killed in mid-turn, and over the same when all is over."""
    crashed = stage.new_folder()
    child = await Child.start("killed_engine", crashed, _SESSIONS)
    session_ids = (await child.says())["session_ids"]
    code = await child.ended()
    assert code < 0, f"the engine was to be killed, but it ended with {code}"
    lines = []
    for can_reattach, agents in ((False, "agents that end with it"), (True, "agents to look for")):
        killed: list[float] = []
        quiet: list[float] = []
        for _ in range(stage.sizes.heavy_rounds):
            folder = stage.new_folder()
            shutil.copytree(crashed, folder)
            for times in (killed, quiet):
                times.append(await _until_usable(folder, session_ids, can_reattach=can_reattach))
            shutil.rmtree(folder)
        moment = f"start after a kill, {_SESSIONS} sessions in mid-turn, {agents}: what it adds"
        lines.append(_added(moment, killed, quiet))
    return lines


def _added(moment: str, killed: Sequence[float], quiet: Sequence[float]) -> Line:
    return Line(
        moment=moment,
        value=median(killed) - median(quiet),
        unit="ms",
        budget=at_most(200),
        product=median(killed),
        floor=median(quiet),
        note="until each has admitted a prompt; the start over a quiet log does the same",
    )


async def _until_usable(folder: Path, session_ids: Sequence[str], *, can_reattach: bool) -> float:
    """Return the milliseconds until every session has admitted a prompt."""
    hosts: list[Host] = []

    async def all_admit() -> None:
        host = await Host.open(folder, can_reattach=can_reattach)
        hosts.append(host)
        async with asyncio.TaskGroup() as group:
            for session_id in session_ids:
                group.create_task(host.admit(session_id))

    taken = await timed(all_admit)
    for host in hosts:
        await host.close()
    return taken


async def _open_and_close(folder: Path) -> float:
    """Return the milliseconds until an engine has started and its storage answers."""
    hosts: list[Host] = []

    async def first_answer() -> None:
        host = await Host.open(folder)
        hosts.append(host)
        await host.storage.head()

    taken = await timed(first_answer)
    for host in hosts:
        await host.close()
    return taken


async def _write_and_die(folder: Path) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.benchmarks.killed_writer", str(folder)
    )
    code = await child.wait()
    assert code < 0, f"the writer was to be killed, but it ended with {code}"
