"""Tasks of the engine: none is forgotten, none takes another one with it, no error is lost."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from spaced.runtime.tasks import Tasks
from spaced.testing.samples import next_turn


class _Worker:
    """Works until it is let go, and knows how it ended."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.ended = ""

    async def work(self) -> str:
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise
        self.ended = "done"
        return "result"


async def _fail() -> None:
    raise ValueError("broken")


async def test_a_started_task_runs_beside_its_caller() -> None:
    """Under its name, and whoever has it may wait for it."""
    tasks, worker = Tasks(), _Worker()

    task = tasks.start(worker.work(), name="work")
    worker.may_end.set()

    assert await task == "result"
    assert task.get_name() == "work"


async def test_a_task_that_fails_is_logged_and_harms_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each serves another session."""
    tasks, worker = Tasks(), _Worker()
    other = tasks.start(worker.work(), name="other")

    failed = tasks.start(_fail(), name="work of ses_1")
    await asyncio.wait({failed})
    await next_turn()

    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "work of ses_1 failed")
    assert record.__dict__["event"] == "task-failed"
    assert not other.done()
    await tasks.close()


async def test_closing_ends_all_that_runs(caplog: pytest.LogCaptureFixture) -> None:
    """Also what is started by something that ends; being cancelled is no fault."""
    tasks, first, second = Tasks(), _Worker(), _Worker()

    async def start_another() -> None:
        try:
            await first.work()
        finally:
            tasks.start(second.work(), name="second")
            await next_turn()

    tasks.start(start_another(), name="first")
    await next_turn()
    await tasks.close()

    assert (first.ended, second.ended) == ("cancelled", "cancelled")
    assert caplog.records == []


async def test_closing_nothing_returns_at_once() -> None:
    """An engine may be stopped before it did anything."""
    await Tasks().close()


async def test_what_is_finished_gives_its_result_or_its_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """To the caller, who waits for it; so nothing needs to be logged."""
    tasks, worker = Tasks(), _Worker()
    worker.may_end.set()

    assert await tasks.finish(worker.work(), name="work") == "result"
    with pytest.raises(ValueError, match="broken"):
        await tasks.finish(_fail(), name="work")
    assert caplog.records == []


async def test_what_is_to_be_finished_goes_on_though_its_caller_is_cancelled() -> None:
    """Half of it must not stay undone."""
    tasks, worker = Tasks(), _Worker()
    caller = asyncio.ensure_future(tasks.finish(worker.work(), name="work"))
    await next_turn()

    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert worker.ended == ""

    worker.may_end.set()
    await next_turn()
    assert worker.ended == "done"


async def test_an_error_that_nobody_waits_for_any_more_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its caller was cancelled before."""
    tasks, worker = Tasks(), _Worker()

    async def fail_later() -> None:
        await worker.work()
        await _fail()

    caller = asyncio.ensure_future(tasks.finish(fail_later(), name="record of ses_1"))
    await next_turn()
    caller.cancel()
    worker.may_end.set()
    await asyncio.wait({caller})
    await tasks.close()
    await next_turn()

    assert [record.getMessage() for record in caplog.records] == ["record of ses_1 failed"]


async def test_closing_cancels_what_is_to_be_finished_too() -> None:
    """Whoever closes has waited for what matters before."""
    tasks, worker = Tasks(), _Worker()
    caller = asyncio.ensure_future(tasks.finish(worker.work(), name="work"))
    await next_turn()

    await tasks.close()

    assert worker.ended == "cancelled"
    with pytest.raises(asyncio.CancelledError):
        await caller


async def _abandoned(work: Callable[[], Coroutine[Any, Any, str]], worker: _Worker) -> list[str]:
    """Return what an outcome was passed on to that its cancelled caller could not use."""
    tasks, passed_on = Tasks(), list[str]()
    finishing = tasks.finish(work(), name="work", if_abandoned=passed_on.append)
    caller = asyncio.ensure_future(finishing)
    await next_turn()
    caller.cancel()
    await asyncio.wait({caller})
    worker.may_end.set()
    for _ in range(3):
        await next_turn()
    await tasks.close()
    return passed_on


async def test_an_outcome_that_its_caller_cannot_use_any_more_is_passed_on() -> None:
    """Such as a connection that nobody would close otherwise."""
    worker = _Worker()

    assert await _abandoned(worker.work, worker) == ["result"]


async def test_an_outcome_that_its_caller_has_is_passed_on_to_nobody_else() -> None:
    """It has one owner."""
    tasks, worker, passed_on = Tasks(), _Worker(), list[str]()
    worker.may_end.set()

    await tasks.finish(worker.work(), name="work", if_abandoned=passed_on.append)

    assert passed_on == []


async def test_what_failed_or_was_cancelled_has_no_outcome_to_pass_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A failure is logged, as ever."""
    failing, endless = _Worker(), _Worker()

    async def fail_later() -> str:
        await failing.work()
        raise ValueError("broken")

    assert await _abandoned(fail_later, failing) == []
    assert [record.getMessage() for record in caplog.records] == ["work failed"]
    assert await _abandoned(endless.work, _Worker()) == []
