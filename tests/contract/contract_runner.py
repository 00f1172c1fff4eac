"""Runs the storage contract without pytest around it, to see which of its tests fail."""

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from spaced.testing.storage_contract import StorageContract
from spaced.testing.storage_harness import StorageHarness

PATIENCE_SECONDS = 5

MakeHarness = Callable[[Path], StorageHarness]


def all_promises() -> list[str]:
    """Return the names of all tests of the contract."""
    return [name for name in dir(StorageContract) if name.startswith("test_")]


def run_contract(
    make_harness: MakeHarness, scratch: Path, names: Iterable[str]
) -> Mapping[str, BaseException]:
    """Run tests of the contract, each with a harness and an event loop of its own.

    Returns:
        What each test that failed raised, by its name.
    """
    failures: dict[str, BaseException] = {}
    for name in names:
        harness = make_harness(scratch / name)
        try:
            asyncio.run(_run(name, harness))
        except (Exception, pytest.fail.Exception) as error:
            failures[name] = error
    return failures


async def _run(name: str, harness: StorageHarness) -> None:
    test = getattr(StorageContract(), name)
    fixtures = {"harness": harness, "storage": await harness.open()}
    wanted = {key: fixtures[key] for key in inspect.signature(test).parameters}
    async with asyncio.timeout(PATIENCE_SECONDS):
        await test(**wanted)
    await harness.close()
