"""A second engine over the data of a first one, which no lock has stopped, corrupts nothing."""

import asyncio
from pathlib import Path

import pytest

from spaced.engine.prompts import Receipt
from spaced.errors import StaleVersion
from tests.end_to_end.sweep_checks import (
    check_answered,
    check_consistent,
    check_quiet,
    check_stopped,
)
from tests.end_to_end.sweep_life import PATIENCE, Fate, Life, further
from tests.end_to_end.sweep_nursery import new_household, nursery, prepare_return


async def test_an_engine_that_was_overtaken_is_refused_and_looks_again(tmp_path: Path) -> None:
    """What it knew of the run is old, so its append is refused whole; asked again, it is right."""
    household = new_household(tmp_path / "household")
    prepare_return(household)
    receipts: list[Receipt] = []
    storage = await household.storage()
    life = Life("overtaken", household, storage, Fate("never"), receipts.append)
    with nursery() as lives:
        async with asyncio.timeout(PATIENCE):
            await life.engine.start()
            await life.create()
            await life.send(further("before"))
            await life.quiet()

            told = await asyncio.to_thread(lives.live, household, "again")
            with pytest.raises(StaleVersion):
                await life.send(further("overtaken"))
            await life.send(further("overtaken"))
            await life.quiet()

    assert len(told.receipts) == 5
    assert len(receipts) == 2
    assert await check_quiet(household, storage) == []
    assert await check_answered(storage) == []
    assert await check_consistent(storage) == []
    await life.engine.stop()
    assert await check_stopped(household, storage) == []
    await storage.close()
