"""Reading what is there: a screenful, a whole transcript, a page of the list."""

from functools import partial

import msgspec

from spaced.engine.transcripts import all_items, newest_items
from spaced.storage.protocol import Storage
from tests.benchmarks.chats import open_storage
from tests.benchmarks.floors import ReadFloor
from tests.benchmarks.measure import Line, alternate, at_most, compare_medians, median
from tests.benchmarks.stage import LARGE, MIDDLE, SMALL, Stage, add_sessions

_SCREEN = 100
_PAGE = 50
_FEW_SESSIONS = 100


async def first_screen(stage: Stage) -> list[Line]:
    """Read the newest hundred items of sessions of very different lengths."""
    storage = await open_storage(await stage.large_folder())
    names = (SMALL, MIDDLE, LARGE)
    times = await alternate(
        *(partial(newest_items, storage, name, limit=_SCREEN) for name in names),
        rounds=stage.sizes.rounds,
    )
    await storage.close()
    medians = {name: median(found) for name, found in zip(names, times, strict=True)}
    lengths = (stage.sizes.small_session, stage.sizes.middle_session, stage.sizes.large_session)
    each = ", ".join(f"{n}: {medians[name]:.2f}" for n, name in zip(lengths, names, strict=True))
    return [
        Line(
            moment="first screen: largest of three lengths against smallest",
            value=max(medians.values()) / min(medians.values()),
            budget=at_most(1.5),
            product=max(medians.values()),
            floor=min(medians.values()),
            note=f"ms by items: {each}",
        )
    ]


async def whole_transcript(stage: Stage) -> list[Line]:
    """Read all items of a session of ten thousand, and encode them."""
    folder = await stage.large_folder()
    storage = await open_storage(folder)
    floor = ReadFloor(folder / "spaced.db")
    number = floor.number_of(MIDDLE)

    async def product() -> bytes:
        return msgspec.json.encode(await all_items(storage, MIDDLE, MIDDLE))

    times, floors = await alternate(
        product, lambda: floor.transcript(number), rounds=stage.sizes.heavy_rounds
    )
    size = len(await product())
    floor.close()
    await storage.close()
    note = f"{stage.sizes.middle_session} items, {size / 1e6:.1f} MB as JSON"
    return [compare_medians("whole transcript", times, floors, at_most(2), note)]


async def list_of_sessions(stage: Stage) -> list[Line]:
    """Read the first page of the list, with few sessions and with many."""
    many = await open_storage(await stage.large_folder())
    few = await open_storage(stage.new_folder())
    await add_sessions(few, _FEW_SESSIONS)
    times, floors = await alternate(
        partial(_first_page, many), partial(_first_page, few), rounds=stage.sizes.rounds * 3
    )
    await many.close()
    await few.close()
    moment = f"list, first page: {stage.sizes.sessions} sessions against {_FEW_SESSIONS}"
    return [compare_medians(moment, times, floors, at_most(1.5))]


async def _first_page(storage: Storage) -> None:
    found = await storage.list_rows(
        "session", where={"visibility": "listed"}, order="latest", limit=_PAGE
    )
    assert len(found.rows) == _PAGE
