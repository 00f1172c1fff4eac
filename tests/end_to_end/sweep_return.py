"""The last life of a household: it looks after what a kill has left, and is examined."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from spaced.engine.prompts import Receipt
from spaced.storage.protocol import Storage
from tests.end_to_end.sweep_checks import (
    check_answered,
    check_asks,
    check_consistent,
    check_nothing_lives,
    check_quiet,
    check_stopped,
    check_told_once,
    check_what_was_left,
    describe,
    end_left_over,
)
from tests.end_to_end.sweep_life import PATIENCE, Fate, Household, Life
from tests.end_to_end.sweep_nursery import Told, prepare_return


async def live_on(
    household: Household,
    told: Sequence[Told],
    place: str,
) -> list[str]:
    """Live on after a kill, and return what is wrong with it, for a person to read.

    Args:
        told: what the lives before said, the first of them `first` and every other one `again`.
        place: where the last of them was killed.
    """
    prepare_return(household)
    accepted: dict[str, Mapping[str, Any]] = {}
    for life in told:
        accepted = {**life.receipts, **accepted}
    storage = await household.storage()
    try:
        found = await check_what_was_left(household, storage, accepted)
        last = _LastLife(household, storage, ["again"] * (len(told) - 1))
        found += await last.live(accepted)
        if not found:
            return []
        return [f"killed at {place}: {'; '.join(found)}", await describe(storage)]
    finally:
        end_left_over(storage.log_id)
        await storage.close()


class _LastLife:
    """A life that ends well."""

    def __init__(self, household: Household, storage: Storage, earlier: Sequence[str]) -> None:
        self._household = household
        self._storage = storage
        self._earlier = earlier
        self._life = Life("last", household, storage, Fate("never"), _hear_nothing)

    async def live(self, accepted: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Live, and return what is wrong."""
        found: list[str] = []
        try:
            async with asyncio.timeout(PATIENCE):
                found += await self._recover()
                found += await self._come_back(accepted)
        except TimeoutError:
            found.append(f"it hangs, and shows {dict(self._life.engine.coordinator.active())}")
        finally:
            await self._life.engine.stop()
        return found + await check_stopped(self._household, self._storage)

    async def _recover(self) -> list[str]:
        """Recover, without any help of a client unless an agent outlived the daemon."""
        await self._life.engine.start()
        found = await check_asks(self._storage)
        if self._household.survives:
            return found
        await self._life.quiet()
        found += check_nothing_lives(self._household, self._storage.log_id)
        return found + await check_quiet(self._household, self._storage)

    async def _come_back(self, accepted: Mapping[str, Mapping[str, Any]]) -> list[str]:
        first = await self._life.come_back(self._earlier)
        again = await self._life.come_back(self._earlier)
        answers = {name: asdict(receipt) for name, receipt in first.items()}
        found = [
            f"{name} was answered with {receipt} and then with {asdict(again[name])}"
            for name, receipt in {**answers, **accepted}.items()
            if asdict(again[name]) != receipt
        ]
        found += await check_quiet(self._household, self._storage)
        found += await check_answered(self._storage)
        found += await check_told_once(self._storage)
        return found + await check_consistent(self._storage)


def _hear_nothing(receipt: Receipt) -> None:
    del receipt
