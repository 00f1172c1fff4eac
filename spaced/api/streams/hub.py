"""Hands what is announced to every client that listens, and drops the ones that do not read.

The log is read for what a client has missed; from the head on it is told what is announced. Going
over from one to the other happens in one block without an await, so nothing falls between and
nothing comes twice. What is announced costs one encoding for all clients together.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from spaced.api.presenting import live_shape
from spaced.api.streams import frames
from spaced.api.streams.derived import frames_of
from spaced.api.streams.filters import EventFilter
from spaced.api.streams.picture import Picture
from spaced.api.streams.subscription import Subscription
from spaced.clock import Clock, to_rfc3339
from spaced.engine.announcements import (
    Announcement,
    Announcements,
    Committed,
    StatusChanged,
    TextDelta,
)
from spaced.log.read_models.lives import ASKS
from spaced.log.record import RecordedEvent
from spaced.refusals import DaemonStopping, TooManyStreams
from spaced.runtime.tasks import Tasks
from spaced.storage.protocol import Storage
from spaced.wire.cursors import Cursor

log = logging.getLogger(__name__)

LONGEST_QUEUE: Final = 4 * 1024 * 1024
"""Bytes that wait for a client that reads slowly; beyond, it is dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """What a user can set about streams.

    Attributes:
        most: how many clients may listen at once.
        heartbeat_ms: how often each of them hears that the daemon is there.
        stall_ms: how long a client may take nothing at all before its connection is cut.
        longest_queue: bytes that wait for one client.
    """

    most: int = 200
    heartbeat_ms: int = 15_000
    stall_ms: int = 30_000
    longest_queue: int = LONGEST_QUEUE


class EventHub:
    """All clients that listen.

    Attributes:
        head: the position of the newest event that was announced.
    """

    def __init__(
        self,
        storage: Storage,
        announcements: Announcements,
        clock: Clock,
        *,
        settings: StreamSettings | None = None,
    ) -> None:
        """Begin to hear what is announced; to be made before the engine starts."""
        self.head = 0
        self.settings = settings or StreamSettings()
        self._storage = storage
        self._clock = clock
        self._tasks = Tasks()
        self._picture = Picture()
        self._heard: list[RecordedEvent] | None = []
        self._known: set[Subscription] = set()
        self._attached: set[Subscription] = set()
        self._is_beating = False
        self._is_closed = False
        self._stop_listening: Callable[[], None] = announcements.listen(self._hear)

    @property
    def log_id(self) -> str:
        """The log that every cursor is of."""
        return self._storage.log_id

    @property
    def longest_queue(self) -> int:
        """The most bytes that may wait for one client."""
        return self.settings.longest_queue

    @property
    def count(self) -> int:
        """How many clients listen."""
        return len(self._known)

    @property
    def open_asks(self) -> int:
        """How many asks wait for an answer."""
        return self._picture.open_asks

    async def open(self) -> None:
        """Learn what was there before anything was announced; to be called before serving."""
        head = await self._storage.head()
        found = await self._storage.list_rows(
            ASKS.table.name, where={"status": "open"}, order="unfinished"
        )
        self._picture.begin((str(row["stream"]), ASKS.state_of(row)) for row in found.rows)
        heard, self._heard = self._heard or [], None
        for event in heard:
            if event.position > found.as_of_position:
                self._picture.recorded(event)
        self.head = max(self.head, head)

    def subscribe(self, wanted: EventFilter, after: Cursor | None) -> Subscription:
        """Return what a client hears, from a cursor or from now on.

        Raises:
            TooManyStreams: as many listen as are served.
            DaemonStopping: nobody is served any more.
        """
        if self._is_closed:
            raise DaemonStopping("the daemon is about to end")
        if len(self._known) >= self.settings.most:
            raise TooManyStreams(f"{len(self._known)} clients listen, which is the most at once")
        subscription = Subscription(self, self._storage, wanted, after)
        self._known.add(subscription)
        return subscription

    def attach(self, subscription: Subscription) -> bytes:
        """Tell a client from now on what is announced; returns what is going on right now."""
        self._attached.add(subscription)
        if not self._is_beating:
            self._is_beating = True
            self._tasks.start(self._beat(), name="heartbeat of event streams")
        told = {"as_of": self.cursor(self.head), **self._picture.told(subscription.wanted)}
        return frames.told(frames.LIVE, told)

    def forget(self, subscription: Subscription) -> None:
        """Let go of a client that listens no more."""
        self._attached.discard(subscription)
        self._known.discard(subscription)

    def cursor(self, position: int) -> str:
        """Return the cursor of a position."""
        return str(Cursor(log_id=self.log_id, position=position))

    def heartbeat(self, position: int) -> bytes:
        """Return the frame that tells the time, and up to where the log was looked through."""
        now = {"time": to_rfc3339(self._clock.now())}
        return frames.told(frames.HEARTBEAT, now, self.cursor(position))

    async def close(self) -> None:
        """Say goodbye to every client, and take no new one."""
        self._is_closed = True
        self._stop_listening()
        bye = frames.told(frames.BYE, {"reason": "daemon-stopping"})
        for subscription in tuple(self._known):
            subscription.end(bye)
        await self._tasks.close()

    def _hear(self, announcement: Announcement) -> None:
        try:
            match announcement:
                case Committed(events=events):
                    for event in events:
                        self._tell_event(event)
                case TextDelta():
                    self._picture.text_came(announcement)
                    self._tell_delta(announcement)
                case StatusChanged():
                    self._picture.status_changed(announcement)
                    self._tell_status(announcement)
        except Exception:
            # A frame was not made, so nobody may go on as if it had been sent.
            log.exception("an announcement was not passed on", extra={"event": "stream-failed"})
            for subscription in tuple(self._attached):
                subscription.lag()

    def _tell_event(self, event: RecordedEvent) -> None:
        self.head = max(self.head, event.position)
        if self._heard is not None:
            self._heard.append(event)
        else:
            self._picture.recorded(event)
        made: dict[frozenset[str] | None, bytes] = {}
        for subscription in tuple(self._attached):
            wanted = subscription.wanted
            if wanted.passes(event):
                if wanted.kinds not in made:
                    made[wanted.kinds] = frames_of(event, self.log_id, wanted.kinds)
                subscription.put(made[wanted.kinds])

    def _tell_delta(self, delta: TextDelta) -> None:
        data = {
            "session_id": delta.session_id,
            "item_id": delta.item_id,
            "field": delta.field,
            "offset": delta.offset,
            "text": delta.text,
        }
        self._tell_ephemeral(frames.DELTA, data, run_id=delta.run_id, session_id=delta.session_id)

    def _tell_status(self, change: StatusChanged) -> None:
        data = {"session_id": change.session_id, "live": live_shape(change.status)}
        self._tell_ephemeral(
            frames.STATUS, data, run_id=change.run_id, session_id=change.session_id
        )

    def _tell_ephemeral(
        self, name: str, data: dict[str, object], *, run_id: str, session_id: str
    ) -> None:
        made: bytes | None = None
        for subscription in tuple(self._attached):
            if subscription.wanted.passes_ephemeral(name, run_id=run_id, session_id=session_id):
                made = made or frames.told(name, data)
                subscription.put(made)

    async def _beat(self) -> None:
        try:
            while self._attached:
                await self._clock.sleep(self.settings.heartbeat_ms)
                beat = self.heartbeat(self.head)
                for subscription in tuple(self._attached):
                    subscription.put(beat)
        finally:
            self._is_beating = False
