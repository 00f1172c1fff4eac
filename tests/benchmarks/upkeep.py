"""Work on a whole storage: examining it, rebuilding its rows, copying it."""

import asyncio
from functools import partial
from time import perf_counter

from spaced.engine.doctor import examine, rebuild
from tests.benchmarks.appending import new_client
from tests.benchmarks.chats import fill, new_chat, open_storage
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.engines import Host
from tests.benchmarks.measure import Line, at_most, median, quantile, timed
from tests.benchmarks.stage import Stage, add_sessions

_SHARE = 25
_SESSIONS_MEANWHILE = 250


async def doctor(stage: Stage) -> list[Line]:
    """Examine and rebuild a storage of middling size."""
    storage = await open_storage(stage.new_folder())
    corpus = Corpus(seed=5)
    await add_sessions(storage, stage.sizes.sessions // _SHARE)
    chat = await new_chat(storage, "ses_long")
    items = stage.sizes.large_session // _SHARE * 2
    await fill(chat, [corpus.around(600) for _ in range(items)])
    events = await storage.head()
    begun = perf_counter()
    findings = [finding async for finding in examine(storage)]
    examined = perf_counter() - begun
    begun = perf_counter()
    await rebuild(storage)
    rebuilt = perf_counter() - begun
    await storage.close()
    assert not findings, findings[0]
    note = f"{events} events"
    return [
        Line(moment="doctor: examine", value=events / examined, unit="events/s", note=note),
        Line(moment="doctor: rebuild", value=events / rebuilt, unit="events/s", note=note),
    ]


async def backup(stage: Stage) -> list[Line]:
    """Admit prompts while the large storage is copied, and without that."""
    host = await Host.open(await stage.large_folder())
    rounds, block = stage.sizes.rounds, stage.sizes.block
    client = await new_client(host, rounds, block)
    normal = [await timed(client.admit) for _ in range(rounds * block)]
    later = await host.chats(_SESSIONS_MEANWHILE)
    during: list[float] = []
    begun = perf_counter()
    async with asyncio.TaskGroup() as group:
        copying = group.create_task(host.storage.backup(stage.new_folder()))
        while not copying.done():
            session_id = later[len(during) // block % len(later)]
            during.append(await timed(partial(host.admit, session_id)))
    taken = perf_counter() - begun
    size = sum((await host.storage.describe()).sizes.values())
    await host.close()
    note = f"{size / 1e6:.0f} MB in {taken:.1f} s, {len(during)} prompts admitted meanwhile"
    middle, tail = median, partial(quantile, share=0.99)
    return [
        Line(
            moment=f"admit during a backup against before: {name}",
            value=of(during) / of(normal),
            budget=budget,
            product=of(during),
            floor=of(normal),
            note=note,
        )
        for name, of, budget in (("median", middle, None), ("p99", tail, at_most(5)))
    ]
