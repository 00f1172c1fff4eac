"""What lies on the disk in the end, and what was written on the way there."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec

from spaced.engine.transcripts import all_items
from spaced.storage.protocol import Storage
from tests.benchmarks.chats import open_storage
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.engines import Host, Pace, Step
from tests.benchmarks.measure import Line, at_most
from tests.benchmarks.stage import Stage

_LIMITS = {200_000: 1.3, 10_000: 1.5, 1_000: 2.0}
_SESSIONS = 8
_SLOW_PIECE, _SLOW_MS = 60, 250
_FAST_PIECE = 64
_WRITE_COUNTER = Path("/proc/self/io")
_HAS_WRITE_COUNTER = _WRITE_COUNTER.exists()


async def disk_per_byte(stage: Stage) -> list[Line]:
    """Store streamed transcripts and weigh the files against their JSON."""
    folder = stage.new_folder()
    await (await open_storage(folder)).close()
    nothing = _weigh(folder)
    lines: list[Line] = []
    for length, limit in _LIMITS.items():
        for is_slow in (False, True):
            lines += await _one_size(stage, length, nothing, limit=limit, is_slow=is_slow)
    return lines


async def _one_size(
    stage: Stage, length: int, nothing: Mapping[str, int], *, limit: float, is_slow: bool
) -> list[Line]:
    folder = stage.new_folder()
    piece, pause = (_SLOW_PIECE, _SLOW_MS) if is_slow else (_FAST_PIECE, 0)
    sessions = min(_SESSIONS, max(1, stage.sizes.disk_bytes // length))
    pace = Pace(pause // sessions)
    host = await Host.open(folder, clock=pace.clock, before_text=pace.before_text)
    items = max(1, stage.sizes.disk_bytes // length // sessions)
    session_ids = []
    for index in range(sessions):
        corpus = Corpus(seed=index)
        steps = [_said(corpus.take(length), piece) for _ in range(items)]
        session_ids.append(await host.chat(steps))
    async with asyncio.TaskGroup() as group:
        for session_id in session_ids:
            group.create_task(host.turn(session_id))
    final = sum([len(await _transcript(host.storage, name)) for name in session_ids])
    await host.close()
    parts = Counter(_weigh(folder))
    parts.subtract(nothing)
    search = parts.pop("search")
    name = f"{length // 1000} KB items, {'slow' if is_slow else 'fast'} stream"
    shares = ", ".join(f"{part} {size / final:.2f}" for part, size in sorted(parts.items()))
    return [
        Line(
            moment=f"disk per byte: {name}",
            value=sum(parts.values()) / final,
            budget=at_most(limit),
            product=sum(parts.values()) / 1e6,
            floor=final / 1e6,
            amount_unit="MB",
            note=shares,
        ),
        Line(
            moment=f"disk per byte: {name}: search index",
            value=search / final,
            budget=at_most(0.7),
            product=search / 1e6,
            floor=final / 1e6,
            amount_unit="MB",
        ),
    ]


def _said(text: str, piece: int) -> Step:
    return {"do": "say", "text": text, "piece_length": piece}


async def _transcript(storage: Storage, session_id: str) -> bytes:
    return msgspec.json.encode(await all_items(storage, session_id, session_id))


def _weigh(folder: Path) -> Mapping[str, int]:
    """Return the bytes of a closed storage's database by part."""
    conn = sqlite3.connect(folder / "spaced.db")
    parts: Counter[str] = Counter({"search": 0})
    try:
        for name, size in conn.execute("select name, sum(pgsize) from dbstat group by name"):
            parts[_part_of(name)] += size
        (free,) = conn.execute("pragma freelist_count").fetchone()
    finally:
        conn.close()
    parts["free pages"] = free * 4096
    other = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    parts["other"] = other - sum(parts.values())
    return parts


def _part_of(name: str) -> str:
    if name.startswith(("search:", "words:", "sqlite_autoindex_search:")):
        return "search"
    if name == "event":
        return "events"
    if name.startswith("event_"):
        return "event indexes"
    return "rows" if name.startswith("row_") else "other"


async def bytes_written(stage: Stage) -> list[Line]:
    """Stream text in small pieces and count what the kernel was given to write."""
    if not _HAS_WRITE_COUNTER:
        return []
    lines = []
    total = stage.sizes.streamed_bytes
    # Where time passes, a tail is written each second; that is bounded by time and not by bytes.
    for name, size, length, milliseconds, budget in (
        ("messages of 1 MB, 64 B pieces at once", total, total // 10, 0, at_most(4)),
        ("messages of 100 KB, 64 B pieces at once", total, total // 100, 0, None),
        ("messages of 10 KB, 64 B every 10 ms", total // 5, total // 1000, 10, None),
        ("messages of 10 KB, 64 B every 250 ms", total // 20, total // 1000, 250, None),
    ):
        written = await _stream(stage, size, length, milliseconds)
        lines.append(
            Line(
                moment=f"bytes written per byte streamed: {name}",
                value=written / size,
                budget=budget,
                product=written / 1e6,
                floor=size / 1e6,
                amount_unit="MB",
                note="write_bytes of the process, with the checkpoint at the end",
            )
        )
    return lines


async def _stream(stage: Stage, size: int, length: int, milliseconds: int) -> int:
    pace = Pace(milliseconds)
    host = await Host.open(stage.new_folder(), clock=pace.clock, before_text=pace.before_text)
    flood = {"do": "flood", "bytes": length, "piece_bytes": _FAST_PIECE}
    session_id = await host.chat([flood] * (size // length))
    before = _written()
    await host.turn(session_id)
    await host.close()
    return _written() - before


def _written() -> int:
    lines = dict(line.split(": ") for line in _WRITE_COUNTER.read_text().splitlines())
    return int(lines["write_bytes"])
