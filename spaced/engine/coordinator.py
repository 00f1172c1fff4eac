"""Owns execution: at most one drain for each session, and the only authority for live status.

A wake is a hint; what is to be done follows from the rows. A wake while a session is drained is
remembered once. A drain ends in one block without an await: the hint is looked at, the drain is
removed and idle is announced, so that a wake never falls between.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from spaced.engine.announcements import StatusChanged
from spaced.engine.held_run import HeldRun
from spaced.engine.live_status import IDLE, QUEUED, STARTING, LiveStatus
from spaced.engine.parts import EngineParts
from spaced.engine.turns.messages import (
    AsksChanged,
    Interrupt,
    InterruptCause,
    Mailbox,
    Message,
    Stop,
    Woken,
)
from spaced.engine.turns.slots import TurnSlots
from spaced.errors import SpacedError, StorageError
from spaced.refusals import SessionBusy

log = logging.getLogger(__name__)

_FIRST_DELAY_MS: Final = 1000
_LONGEST_DELAY_MS: Final = 30_000


class Drain:
    """The drain of one session.

    Attributes:
        mailbox: of the turn that runs; between turns there is none.
        waiting: the wait for a place under the bound, if it is in one.
    """

    def __init__(self, run_id: str, session_id: str) -> None:
        self.run_id = run_id
        self.session_id = session_id
        self.status = STARTING
        self.is_hinted = False
        self.is_started = False
        self.mailbox: Mailbox | None = None
        self.waiting: asyncio.Task[None] | None = None
        self.ended: asyncio.Event = asyncio.Event()

    def tell(self, message: Message) -> bool:
        """Put a message before the turn that runs; false: none does."""
        if self.mailbox is None:
            return False
        self.mailbox.put(message)
        return True


class TurnSource(Protocol):
    """Says what a drain does; the coordinator only decides when."""

    async def is_eligible(self, run_id: str, session_id: str) -> bool:
        """Tell whether the session has something to do now."""
        ...

    async def run_next(self, drain: Drain, show: Callable[[LiveStatus], None]) -> bool:
        """Run the session's next turn to its end; false: there was none to run."""
        ...


class Claim:
    """A registered drain that has not begun: the session counts as active from here on."""

    def __init__(self, go: Callable[[], None]) -> None:
        self._go: Callable[[], None] | None = go

    def go(self) -> None:
        """Begin; a second call does nothing."""
        go, self._go = self._go, None
        if go is not None:
            go()


class Coordinator:
    """Starts drains and knows what every session is doing."""

    def __init__(self, parts: EngineParts, source: TurnSource) -> None:
        self._parts = parts
        self._source = source
        self._drains: dict[str, Drain] = {}
        self._slots = TurnSlots(parts.settings.concurrent_turns)
        self._is_stopping = False
        self._troubles: dict[str, int] = {}
        self.on_idle: Callable[[str], None] = _nothing
        """Told each session that has become idle."""
        self.problems: dict[str, SpacedError] = {}
        """By session: why it could not be drained, until it could be."""

    def claim(self, run_id: str, session_id: str) -> Claim:
        """Register a drain, or remember the hint if there is one already."""
        drain = self._drains.get(session_id)
        if drain is not None:
            drain.is_hinted = True
            return Claim(lambda: self._hint(session_id))
        if self._is_stopping:
            return Claim(lambda: None)
        self._register(Drain(run_id, session_id))
        return Claim(lambda: self._start(session_id))

    def wake(self, run_id: str, session_id: str) -> None:
        """Let a session look for something to do."""
        self.claim(run_id, session_id).go()

    def active(self) -> Mapping[str, LiveStatus]:
        """Return the live status of every session that is not idle."""
        return {session_id: drain.status for session_id, drain in self._drains.items()}

    def status(self, session_id: str) -> LiveStatus:
        """Return a session's live status."""
        drain = self._drains.get(session_id)
        return IDLE if drain is None else drain.status

    def is_at_work(self, held: HeldRun, session_id: str) -> bool:
        """Tell whether a session is drained, or has a turn that nobody has ended yet."""
        return session_id in self._drains or held.open_turn(session_id) is not None

    def refuse_busy(self, held: HeldRun, session_id: str) -> None:
        """Refuse what has to wait until a session is idle.

        Raises:
            SessionBusy: it is at work.
        """
        if self.is_at_work(held, session_id):
            raise SessionBusy(f"the session {session_id!r} is at work")

    def interrupt(self, session_id: str, cause: InterruptCause) -> bool:
        """End what a session is doing; false: it was doing nothing."""
        drain = self._drains.get(session_id)
        if drain is None:
            return False
        if not drain.tell(Interrupt(cause=cause)) and drain.waiting is not None:
            drain.waiting.cancel()
        return True

    def asks_changed(self, session_id: str) -> None:
        """Let a running turn look at its asks again."""
        drain = self._drains.get(session_id)
        if drain is not None:
            drain.tell(AsksChanged())

    async def idle(self, session_id: str) -> None:
        """Return when a session is doing nothing."""
        while (drain := self._drains.get(session_id)) is not None:
            await drain.ended.wait()

    async def all_idle(self) -> None:
        """Return when no session is doing anything."""
        while self._drains:
            await next(iter(self._drains.values())).ended.wait()

    async def stop(self) -> None:
        """Begin no turn any more; give those that run some time, then end them."""
        self._is_stopping = True
        self._end_waiting()
        self._tell_all(Stop(is_grace_over=False))
        limit = self._parts.tasks.start(
            self._parts.clock.sleep(self._parts.settings.stop_grace_ms), name="stop grace"
        )
        over = self._parts.tasks.start(self.all_idle(), name="end of all turns")
        await asyncio.wait({limit, over}, return_when=asyncio.FIRST_COMPLETED)
        limit.cancel()
        self._tell_all(Stop(is_grace_over=True))
        await over

    def adopt(self, run_id: str, session_id: str) -> Drain:
        """Register the drain of a turn that outlived the daemon."""
        drain = Drain(run_id, session_id)
        self._register(drain)
        drain.is_started = True
        return drain

    def go_on(self, drain: Drain) -> None:
        """Let an adopted drain go on as any other one."""
        drain.mailbox = None
        self._parts.tasks.start(self._drain(drain), name=f"drain of {drain.session_id}")

    def show(self, drain: Drain, status: LiveStatus) -> None:
        """Change and announce a session's live status."""
        if status != drain.status:
            drain.status = status
            self._announce(drain, status)

    def _end_waiting(self) -> None:
        for drain in tuple(self._drains.values()):
            if not drain.is_started:
                self._remove(drain)
            elif drain.waiting is not None:
                drain.waiting.cancel()

    def _tell_all(self, message: Message) -> None:
        for drain in self._drains.values():
            drain.tell(message)

    def _register(self, drain: Drain) -> None:
        self._drains[drain.session_id] = drain
        self._announce(drain, drain.status)

    def _start(self, session_id: str) -> None:
        drain = self._drains.get(session_id)
        if drain is not None and not drain.is_started:
            drain.is_started = True
            self._parts.tasks.start(self._drain(drain), name=f"drain of {session_id}")

    def _hint(self, session_id: str) -> None:
        drain = self._drains.get(session_id)
        if drain is not None and not drain.tell(Woken()):
            self._start(session_id)  # whoever claimed it first may never come back to begin

    async def _drain(self, drain: Drain) -> None:
        try:
            while not self._is_stopping and await self._turn(drain):
                pass
        except asyncio.CancelledError:
            raise
        except SpacedError as error:
            self._note_trouble(drain, error)
        except Exception:
            log.exception("a drain failed", extra={"event": "drain-failed"})
            fault = SpacedError(f"the session {drain.session_id!r} met a fault of spaced")
            self._note_trouble(drain, fault)
        else:
            self.problems.pop(drain.session_id, None)
            self._troubles.pop(drain.session_id, None)
        finally:
            self._remove(drain)

    async def _turn(self, drain: Drain) -> bool:
        """Run one turn; false: nothing is left to do and no hint has come, so that it ends here."""
        drain.is_hinted = False
        if not await self._source.is_eligible(drain.run_id, drain.session_id):
            return drain.is_hinted
        if not await self._has_slot(drain):
            return True  # somebody interrupted the wait: what is to be done now may be another
        if self._is_stopping:
            self._slots.give_back()
            return False
        try:
            has_run = await self._source.run_next(drain, lambda status: self.show(drain, status))
        finally:
            drain.mailbox = None
            self._slots.give_back()
        return has_run or drain.is_hinted

    async def _has_slot(self, drain: Drain) -> bool:
        if self._slots.take_now():
            return True
        self.show(drain, QUEUED)
        waiting = drain.waiting = self._parts.tasks.start(
            self._slots.take(), name=f"slot for {drain.session_id}"
        )
        await asyncio.wait({waiting})
        drain.waiting = None
        return not waiting.cancelled()

    def _remove(self, drain: Drain) -> None:
        if self._drains.get(drain.session_id) is drain:
            del self._drains[drain.session_id]
            drain.ended.set()
            self._announce(drain, IDLE)
            self.on_idle(drain.session_id)

    def _note_trouble(self, drain: Drain, error: SpacedError) -> None:
        """Keep why a session stands still, and try again later if that may help."""
        log.error(
            "the session %s cannot go on: %s",
            drain.session_id,
            error,
            extra={"event": "drain-stopped", "session_id": drain.session_id},
        )
        self.problems[drain.session_id] = error
        if isinstance(error, StorageError) and not self._is_stopping:
            count = self._troubles[drain.session_id] = self._troubles.get(drain.session_id, 0) + 1
            delay = min(_FIRST_DELAY_MS * 2 ** min(count - 1, 10), _LONGEST_DELAY_MS)
            retry = self._wake_after(delay, drain.run_id, drain.session_id)
            self._parts.tasks.start(retry, name=f"retry of {drain.session_id}")

    async def _wake_after(self, delay_ms: int, run_id: str, session_id: str) -> None:
        await self._parts.clock.sleep(delay_ms)
        self.wake(run_id, session_id)

    def _announce(self, drain: Drain, status: LiveStatus) -> None:
        self._parts.announcements.announce(
            StatusChanged(run_id=drain.run_id, session_id=drain.session_id, status=status)
        )


def _nothing(session_id: str) -> None:
    del session_id
