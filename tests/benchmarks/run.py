"""Runs the benchmarks: `make bench`, or `python -m tests.benchmarks.run --help`."""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Final, TypeAlias

from tests.benchmarks import (
    agent_turns,
    appending,
    disk,
    idling,
    interrupting,
    reading,
    searching,
    serving,
    starting,
    syncing,
    upkeep,
)
from tests.benchmarks.measure import Line
from tests.benchmarks.report import document, table
from tests.benchmarks.sizes import FULL, QUICK, Sizes
from tests.benchmarks.stage import Stage

Benchmark: TypeAlias = Callable[[Stage], Awaitable[list[Line]]]

BENCHMARKS: Final[dict[str, Benchmark]] = {
    "admit": appending.one_client,
    "admit-rarely": appending.rare_admissions,
    "admit-beside-streams": appending.beside_streams,
    "group-commit": appending.many_clients,
    "serve-admit": serving.one_client,
    "serve-beside-streams": serving.beside_streams,
    "serve-many": serving.many_clients,
    "serve-first-frame": serving.first_frame,
    "serve-fan-out": serving.fan_out,
    "commands": serving.commands,
    "daemon": serving.processes,
    "disk": disk.disk_per_byte,
    "written": disk.bytes_written,
    "flood": idling.flooded,
    "parked": idling.parked,
    "interrupt": interrupting.interrupt,
    "agent-turn": agent_turns.text_turn,
    "agent-kill": agent_turns.killing,
    "start-after-kill": starting.start_after_kill,
    "start-in-mid-turn": starting.start_in_mid_turn,
    "sync": syncing.sync,
    "admit-beside-sync": syncing.admit_beside_sync,
    "doctor": upkeep.doctor,
    # From here on with the large storage, which the first of them builds.
    "first-screen": reading.first_screen,
    "transcript": reading.whole_transcript,
    "list": reading.list_of_sessions,
    "search": searching.search,
    "serve-search": serving.search,
    "admit-beside-search": searching.admit_beside_search,
    "backup": upkeep.backup,
    "start": starting.start,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what was asked for and print what was found."""
    options = _options(arguments)
    begun = perf_counter()
    sizes = QUICK if options.quick else FULL
    lines = asyncio.run(_run(options.only or list(BENCHMARKS), sizes))
    print(table(lines))
    found = document(lines, seconds=perf_counter() - begun, is_quick=options.quick)
    text = json.dumps(found, indent=1, ensure_ascii=False)
    if options.json is None:
        print(text)
    else:
        options.json.write_text(text + "\n", encoding="utf-8")


async def _run(names: Sequence[str], sizes: Sizes) -> list[Line]:
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="spaced-bench-") as folder:
        stage = Stage(folder=Path(folder), sizes=sizes)
        for name in names:
            begun = perf_counter()
            lines += await BENCHMARKS[name](stage)
            print(f"{name}: {perf_counter() - begun:.1f} s", file=sys.stderr, flush=True)
    return lines


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON document there")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: only shows that it runs")
    parser.add_argument("--only", nargs="+", choices=list(BENCHMARKS), help="run only these")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
