"""Waits that end: with what was waited for, or with the clock that a test moves."""

import asyncio
import logging
from typing import cast

import pytest

from spaced.engine.parts import EngineParts
from spaced.engine.waiting import until_written, within
from spaced.errors import StorageFull
from spaced.testing.fake_clock import FakeClock
from spaced.testing.samples import next_turn


def _clock(parts: EngineParts) -> FakeClock:
    return cast("FakeClock", parts.clock)


async def _settle() -> None:
    for _ in range(5):
        await next_turn()


class _Disk:
    """Is full for the first writes."""

    def __init__(self, *, refusals: int) -> None:
        self.attempts = 0
        self._refusals = refusals

    async def write(self) -> None:
        self.attempts += 1
        if self.attempts <= self._refusals:
            raise StorageFull("no space")


async def test_what_can_be_written_is_written_once(parts: EngineParts) -> None:
    """Without waiting for anything."""
    disk = _Disk(refusals=0)

    await until_written(parts, disk.write)

    assert disk.attempts == 1


async def test_what_finds_no_space_is_tried_again_less_and_less_often(
    parts: EngineParts, caplog: pytest.LogCaptureFixture
) -> None:
    """After a second, then after twice as long, and after half a minute at the most."""
    caplog.set_level(logging.WARNING)
    disk = _Disk(refusals=7)
    writing = asyncio.ensure_future(until_written(parts, disk.write))

    for number, seconds in enumerate([1, 2, 4, 8, 16, 30, 30], start=1):
        await _settle()
        assert disk.attempts == number
        _clock(parts).advance(milliseconds=seconds * 1000 - 1)
        await _settle()
        assert disk.attempts == number
        _clock(parts).advance(milliseconds=1)
    await writing

    assert disk.attempts == 8
    assert {record.__dict__["event"] for record in caplog.records} == {"waiting-for-space"}


async def test_other_errors_are_not_waited_out(parts: EngineParts) -> None:
    """Trying again would not help."""

    async def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await until_written(parts, fail)


async def test_what_ends_in_time_is_told_to_have_ended(parts: EngineParts) -> None:
    """And nobody goes on waiting for the clock."""

    async def work() -> None:
        await next_turn()

    assert await within(parts, work, 1000, name="work")
    await next_turn()
    assert _clock(parts).sleepers == 0


async def test_what_takes_too_long_is_cancelled(parts: EngineParts) -> None:
    """At the limit, and not before."""
    cancelled = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    waiting = asyncio.ensure_future(within(parts, work, 1000, name="work"))
    await _settle()
    _clock(parts).advance(milliseconds=999)
    await _settle()
    assert not waiting.done()

    _clock(parts).advance(milliseconds=1)
    assert await waiting is False
    await cancelled.wait()


async def test_what_fails_in_time_raises_its_own_error(
    parts: EngineParts, caplog: pytest.LogCaptureFixture
) -> None:
    """The caller has it, so that it is not logged as well."""

    async def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await within(parts, fail, 1000, name="work")
    assert caplog.records == []


async def test_who_gives_up_waiting_ends_the_work_too(parts: EngineParts) -> None:
    """Nothing stays behind."""
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.ensure_future(within(parts, work, 1000, name="work"))
    await _settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await ended.wait()
    await next_turn()
    assert _clock(parts).sleepers == 0
