"""Turns as their clients see them: until the agent's first word, and until it is interrupted."""

import asyncio

from spaced.engine.announcements import Announcement, Committed
from tests.benchmarks.appending import prompt_bytes
from tests.benchmarks.engines import Host
from tests.benchmarks.floors import CommitFloor
from tests.benchmarks.measure import Line, at_most, compare_medians, median, quantile, timed
from tests.benchmarks.stage import Stage

_SCRIPT = [{"do": "say", "text": "Let me see."}, {"do": "hang"}]
_BUDGET_MS = 50


class _Ear:
    """Hears in one turn when the agent's first message begins and when it is complete."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.complete = asyncio.Event()

    def hear(self, announced: Announcement) -> None:
        if isinstance(announced, Committed):
            kinds = {event.kind for event in announced.events}
            # The item of the prompt comes together with the turn's beginning.
            if "agent-item-appended" in kinds and "turn-started" not in kinds:
                self.begun.set()
            if "agent-item-updated" in kinds:
                self.complete.set()


async def interrupt(stage: Stage) -> list[Line]:
    """Prompt an agent that works until it is interrupted."""
    host = await Host.open(stage.new_folder())
    floor = CommitFloor(stage.new_folder())
    session_id = await host.chat(_SCRIPT)
    firsts: list[float] = []
    stops: list[float] = []
    floors: list[float] = []

    async def two_commits() -> None:
        await floor.commit(prompt_bytes())
        await floor.commit(prompt_bytes())

    async def stop() -> None:
        await host.engine.control.interrupt(session_id)
        await host.engine.coordinator.idle(session_id)

    for number in range(stage.sizes.rounds * 2 + 1):
        ear = _Ear()
        stop_listening = host.engine.announcements.listen(ear.hear)

        async def first_word(heard: _Ear = ear) -> None:
            await host.prompt(session_id)
            await heard.begun.wait()

        first = await timed(first_word)
        await ear.complete.wait()
        found = first, await timed(stop), await timed(two_commits)
        stop_listening()
        if number:
            for times, one in zip((firsts, stops, floors), found, strict=True):
                times.append(one)
    await host.close()
    floor.close()
    return [
        Line(
            moment="interrupt → idle: median",
            value=median(stops),
            unit="ms",
            budget=at_most(_BUDGET_MS),
        ),
        Line(moment="interrupt → idle: p99", value=quantile(stops, 0.99), unit="ms"),
        compare_medians("interrupt → idle against two commits", stops, floors),
        compare_medians("admit → first word of a connected agent, two commits", firsts, floors),
    ]
