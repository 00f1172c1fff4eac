"""Runs the runtime contract without pytest around it, to see which of its tests fail."""

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from spaced.testing.runtime_contract import RuntimeContract
from spaced.testing.runtime_harness import RuntimeHarness

LIMIT_SECONDS = 60

MakeHarness = Callable[[Path], RuntimeHarness]


def all_promises() -> list[str]:
    """Return the names of all tests of the contract."""
    return [name for name in dir(RuntimeContract) if name.startswith("test_")]


def run_contract(
    make_harness: MakeHarness, scratch: Path, names: Iterable[str]
) -> Mapping[str, BaseException]:
    """Run tests of the contract, each with a harness and an event loop of its own.

    Returns:
        What each test that failed raised, by its name.
    """
    failures: dict[str, BaseException] = {}
    for name in names:
        folder = scratch / name
        folder.mkdir()
        try:
            asyncio.run(_run(name, make_harness(folder)))
        except pytest.skip.Exception:
            continue
        except (Exception, pytest.fail.Exception) as error:
            failures[name] = error
    return failures


async def _run(name: str, harness: RuntimeHarness) -> None:
    test = getattr(RuntimeContract(), name)
    assert set(inspect.signature(test).parameters) == {"agents"}
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            await test(agents=harness)
    finally:
        await harness.close()
