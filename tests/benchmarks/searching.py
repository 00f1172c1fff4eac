"""Searching a large storage, and admitting meanwhile."""

import asyncio
from contextlib import suppress
from functools import partial

from spaced_sqlite.search_index import match_expression
from tests.benchmarks.appending import new_client, prompt_bytes
from tests.benchmarks.chats import open_storage
from tests.benchmarks.engines import Host
from tests.benchmarks.floors import CommitFloor, ReadFloor
from tests.benchmarks.measure import Line, alternate, at_most, compare, compare_medians, timed
from tests.benchmarks.stage import Stage

_HITS = 20
_PERSON_SECONDS = 0.01
QUERIES = {
    "a common word": "return",
    "two words": "class attribute",
    "three words": "raise value error",
    "a rare word": "mersenne",
    "a beginning": "concurr*",
    "no such word": "xylophonist",
}


async def search(stage: Stage) -> list[Line]:
    """Find the first hits, against a bare query of the same index."""
    folder = await stage.large_folder()
    storage = await open_storage(folder)
    floor = ReadFloor(folder / "spaced.db")
    lines = []
    for name, query in QUERIES.items():
        expression = match_expression(query)
        times, floors = await alternate(
            partial(storage.search, "item", query, limit=_HITS),
            partial(floor.search, expression, _HITS),
            rounds=stage.sizes.rounds,
            block=5,
        )
        found = len((await storage.search("item", query, limit=_HITS)).keys)
        lines.append(compare_medians(f"search, {name}", times, floors, at_most(3), f"{found} hits"))
    floor.close()
    await storage.close()
    return lines


async def admit_beside_search(stage: Stage) -> list[Line]:
    """Admit prompts while somebody searches without a break."""
    host = await Host.open(await stage.large_folder())
    floor = CommitFloor(stage.new_folder())
    rounds = stage.sizes.rounds // 2
    client = await new_client(host, rounds * 2 + 1, stage.sizes.block)
    body = prompt_bytes()
    is_over = asyncio.Event()
    admits: list[float] = []
    floors: list[float] = []

    async def search_on(pause: float) -> None:
        while not is_over.is_set():
            for query in QUERIES.values():
                await host.storage.search("item", query, limit=_HITS)
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await is_over.wait()

    async def measure(pause: float) -> None:
        admits.clear()
        floors.clear()
        for number in range(rounds + 1):
            is_over.clear()
            async with asyncio.TaskGroup() as group:
                group.create_task(search_on(pause))
                found = [await timed(client.admit) for _ in range(stage.sizes.block)]
                is_over.set()
            await host.settle()
            least = [await timed(partial(floor.commit, body)) for _ in found]
            if number:
                admits.extend(found)
                floors.extend(least)

    await measure(_PERSON_SECONDS)
    name = "admit, while somebody searches"
    lines = compare(
        f"{name} 100 times a second", admits, floors, middle=at_most(2.5), tail=at_most(5)
    )
    await measure(0)
    lines += compare(f"{name} without a pause", admits, floors)
    floor.close()
    await host.close()
    return lines
