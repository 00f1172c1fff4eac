"""What an engine needs while nothing happens, and while very much is reported."""

import asyncio
from contextlib import suppress
from pathlib import Path

from tests.benchmarks.chats import open_storage
from tests.benchmarks.child import Child
from tests.benchmarks.engines import Host
from tests.benchmarks.measure import Line, at_most
from tests.benchmarks.stage import Stage, add_sessions

_SETTLING_SECONDS = 0.3
_MEGABYTE = 1e6


async def parked(stage: Stage) -> list[Line]:
    """Let engines over an empty and over a large log do nothing."""
    empty, full = stage.new_folder(), stage.new_folder()
    await (await Host.open(empty)).close()
    storage = await open_storage(full)
    await add_sessions(storage, stage.sizes.parked, turn_in_each=1)
    await storage.close()
    await (await Host.open(full)).close()
    bare, small, large = [
        await _idle(folder, stage.sizes.idle_seconds) for folder in (None, empty, full)
    ]
    sessions = f"{stage.sizes.parked:,} parked sessions"
    return [
        _memory("idle memory: an engine against its imports alone", small, bare),
        _memory(f"idle memory: {sessions} against an empty log", large, small),
        Line(
            moment=f"idle, {sessions}: timers of the event loop in {stage.sizes.idle_seconds:g} s",
            value=large["timers"],
            unit="timers",
            budget=at_most(0),
        ),
        Line(
            moment=f"idle, {sessions}: wake-ups of any thread in {stage.sizes.idle_seconds:g} s",
            value=large["wake_ups"],
            unit="times",
            budget=at_most(0),
            note=f"{large['cpu_ms']:.1f} ms of CPU, {large['loop']:.0f} rounds of the event loop",
        ),
    ]


async def flooded(stage: Stage) -> list[Line]:
    """Let a tool report a huge output."""
    child = await Child.start("flooded_engine", stage.new_folder(), stage.sizes.output_bytes)
    found = await child.says()
    await child.ended()
    return [
        Line(
            moment=f"memory that {stage.sizes.output_bytes / _MEGABYTE:.0f} MB of output need",
            value=(found["peak"] - found["before"]) / _MEGABYTE,
            unit="MB",
            budget=at_most(16),
            product=found["peak"] / _MEGABYTE,
            floor=found["before"] / _MEGABYTE,
            amount_unit="MB",
            note="peak of the process, against after 1 MB of output",
        )
    ]


async def _idle(folder: Path | None, seconds: float) -> dict[str, float]:
    child = await Child.start("idle_engine", *([] if folder is None else [folder]))
    found = await child.says()
    await _pass(_SETTLING_SECONDS)
    await child.tell("begin")
    await _pass(seconds)
    await child.tell("end")
    found |= await child.says()
    await child.ended()
    return found


async def _pass(seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()


def _memory(moment: str, product: dict[str, float], floor: dict[str, float]) -> Line:
    return Line(
        moment=moment,
        value=product["bytes"] / floor["bytes"],
        product=product["bytes"] / _MEGABYTE,
        floor=floor["bytes"] / _MEGABYTE,
        amount_unit="MB",
    )
