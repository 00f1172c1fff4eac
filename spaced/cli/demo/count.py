"""Counts what became of everything that was accepted."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from spaced.client import calls
from spaced.client.client import Client
from spaced.wire.shapes import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What was counted.

    Attributes:
        lines: one for each thing that was counted.
        problems: what should not be; empty if nothing was lost and nothing happened twice.
    """

    lines: tuple[str, ...]
    problems: tuple[str, ...]


async def count(
    client: Client,
    session_id: str,
    folder: Path,
    *,
    admitted: Mapping[str, int],
    heard: Callable[[str], Awaitable[list[str]]],
) -> Count:
    """Compare prompts, transcript, hand-overs, events and rows.

    Args:
        folder: the daemon's data directory; the scripted agent notes its hand-overs there.
        admitted: every accepted prompt.
        heard: the cursors that a listening client heard, once it has heard a given one.
    """
    log = await _all_events(client, session_id)
    shown = Counter(await _shown_prompts(client, session_id))
    handed = Counter(_handed_over(folder))
    cursors = await heard(log[-1].cursor)
    expected = [event.cursor for event in log if event.cursor in set(cursors)]
    first = next(i for i, event in enumerate(log) if event.cursor == cursors[0])
    doctor = await client.do(calls.examine())
    problems = [
        *(f"{name} is not in the transcript" for name in admitted if not shown[name]),
        *(f"{name} is in the transcript {n} times" for name, n in shown.items() if n > 1),
        *(f"{name} was never handed over" for name in admitted if not handed[name]),
        *(f"{name} was handed over {n} times" for name, n in handed.items() if n > 1),
        *(finding.detail for finding in doctor.findings),
    ]
    if cursors != expected or len(cursors) != len(log) - first:
        problems.append("the listening client missed events, or heard some twice")
    seen, taken = sum(shown.values()), sum(handed.values())
    prompts = f"{len(admitted)} prompts accepted, {seen} in the transcript, {taken} handed over"
    events = f"{len(log) - first} events happened, {len(cursors)} were heard, over one cut"
    rows = f"{len(doctor.findings)} differences between the rows and the log"
    return Count(lines=(prompts, events, rows), problems=tuple(problems))


async def _all_events(client: Client, session_id: str) -> list[Event]:
    events: list[Event] = []
    after: str | None = None
    while True:
        page = await client.do(calls.events(session_id, after=after, limit=500))
        events += page.events
        after = page.next_cursor
        if not page.more:
            return events


async def _shown_prompts(client: Client, session_id: str) -> list[str]:
    names: list[str] = []
    before: str | None = None
    while True:
        page = await client.items(session_id, before=before, limit=500)
        names += [str(item["prompt_id"]) for item in page.items if "prompt_id" in item]
        before = page.before
        if before is None:
            return names


def _handed_over(folder: Path) -> list[str]:
    names: list[str] = []
    for path in (folder / "runtimes").rglob("deliveries.jsonl"):
        for line in path.read_text().splitlines():
            names += json.loads(line)["prompt_ids"]
    return names
