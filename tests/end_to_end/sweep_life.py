"""One life of an engine in the kill sweep: what it is built of, and what its client does.

The client chooses the ids of everything it asks for, so that after a lost answer it asks again. It
waits on announcements and never on time.
"""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

from spaced.clock import SystemClock
from spaced.domain.chat import ChatRequest
from spaced.domain.profile import Profile
from spaced.engine.announcements import Announcement, Committed, StatusChanged
from spaced.engine.engine import Engine
from spaced.engine.parts import EngineSettings
from spaced.engine.prompts import Address, PromptRequest, Receipt
from spaced.errors import SpacedError
from spaced.log.read_models.catalogue import TABLES
from spaced.log.record import RecordedEvent, StreamWrite
from spaced.log.table import RowWrite
from spaced.storage.protocol import Appended, OnCommitted, Storage, StoragePlace
from spaced_scripted.runtime import ScriptedRuntime
from spaced_sqlite.factory import SqliteStorageFactory

PATIENCE: Final = 20
"""Seconds that only a life that hangs takes."""

AgentKind = Literal["mortal", "continuing", "surviving"]
"""It dies with the daemon, it is told to go on afterwards, or it outlives the daemon."""

PROFILE: Final = "prof_sweep"
CHAT: Final = "ses_sweep"
FIRST: Final = PromptRequest(parts=({"type": "text", "text": "first"},), prompt_id="msg_first")
SECOND: Final = PromptRequest(parts=({"type": "text", "text": "second"},), prompt_id="msg_second")
STEER: Final = PromptRequest(
    parts=({"type": "text", "text": "steer"},), prompt_id="msg_steer", delivery="steer"
)


def nudge(life: str) -> PromptRequest:
    """Return a life's own steer, for a turn of an earlier life that may wait for one."""
    parts = ({"type": "text", "text": "nudge"},)
    return PromptRequest(parts=parts, prompt_id=f"msg_{life}_nudge", delivery="steer")


def further(life: str) -> PromptRequest:
    """Return the prompt that proves that a life goes on."""
    parts = ({"type": "text", "text": "further"},)
    return PromptRequest(parts=parts, prompt_id=f"msg_{life}_further")


Tell = Callable[[Receipt], None]


class Fate:
    """Where a life ends: `before:3` or `after:3` an append, or at `point:handed-over:1`."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._points: Counter[str] = Counter()
        self.appends = 0
        self.seen: list[str] = []

    def begin_append(self) -> int:
        """Count an append that begins."""
        self.appends += 1
        self._pass(f"before:{self.appends}")
        return self.appends

    def end_append(self, number: int) -> None:
        """Note that an append has returned."""
        self._pass(f"after:{number}")

    def reach(self, point: str) -> None:
        """Note that a crash point is reached."""
        self._points[point] += 1
        self._pass(f"point:{point}:{self._points[point]}")

    def _pass(self, place: str) -> None:
        if place == self._place:
            os.kill(os.getpid(), signal.SIGKILL)
        self.seen.append(place)


class DyingStorage:
    """A storage whose appends are counted, and may be the last thing that happens."""

    def __init__(self, storage: Storage, fate: Fate) -> None:
        self._storage = storage
        self._fate = fate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    @property
    def on_committed(self) -> OnCommitted:
        """Who is told of commits."""
        return self._storage.on_committed

    @on_committed.setter
    def on_committed(self, told: OnCommitted) -> None:
        self._storage.on_committed = told

    async def append(
        self, writes: Sequence[StreamWrite], rows: Sequence[RowWrite] = (), *, bulk: bool = False
    ) -> Appended:
        """Append, and perhaps die right before or right after."""
        number = self._fate.begin_append()
        appended = await self._storage.append(writes, rows, bulk=bulk)
        self._fate.end_append(number)
        return appended


@dataclass(frozen=True, kw_only=True)
class Household:
    """Where lives follow each other.

    Attributes:
        folder: of everything.
        agent: what becomes of the agent when the daemon dies.
    """

    folder: Path
    agent: AgentKind = "mortal"

    @property
    def survives(self) -> bool:
        """Whether the agent outlives the daemon."""
        return self.agent == "surviving"

    @property
    def workplace(self) -> Path:
        """The folder that the chat works in; it is there."""
        return self.folder / "workplace"

    @property
    def deliveries(self) -> Path:
        """The agent's own journal of what was handed to it."""
        return self.folder / "state" / "scripted" / "deliveries.jsonl"

    async def storage(self) -> Storage:
        """Open the log."""
        place = StoragePlace(
            folder=self.folder / "log", tables=tuple(TABLES.values()), clock=SystemClock()
        )
        return await SqliteStorageFactory().open(place)

    def profile(self) -> Profile:
        """Return the agent's profile, the same in every life."""
        return Profile(
            name="sweep",
            agent_name="scripted",
            runtime="scripted",
            options={"script_file": "script.json", "survives": self.survives},
            on_restart="continue" if self.agent == "continuing" else "ask",
        )


@dataclass(eq=False)
class Life:
    """An engine and its client.

    Attributes:
        name: of this life among those of its household.
        tell: called with each receipt at once when it is there.
    """

    name: str
    household: Household
    storage: Storage
    fate: Fate
    tell: Tell
    engine: Engine = field(init=False)
    _heard: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        """Put an engine together."""
        self.engine = Engine(
            cast("Storage", DyingStorage(self.storage, self.fate)),
            {"scripted": ScriptedRuntime},
            clock=SystemClock(),
            state_folder=self.household.folder / "state",
            settings=EngineSettings(environment={"PATH": os.environ["PATH"]}, stop_grace_ms=1000),
            reach=self.fate.reach,
        )
        self.engine.announcements.listen(self._hear)

    def _hear(self, announcement: Announcement) -> None:
        """Wake whoever waits, if it may be for this."""
        match announcement:
            case StatusChanged():
                self._heard.set()
            case Committed(events=events) if any(e.kind == "permission-asked" for e in events):
                self._heard.set()

    async def create(self) -> None:
        """Create the profile and the chat, or find them."""
        await self.engine.profiles.create(self.household.profile(), profile_id=PROFILE)
        chat = ChatRequest(profile_id=PROFILE, directory=str(self.household.workplace))
        await self.engine.sessions.create(chat, session_id=CHAT)

    async def send(self, request: PromptRequest) -> Receipt:
        """Admit a prompt, tell its receipt, and let the session begin."""
        admitted = await self.engine.prompts.admit(Address(kind="session", id=CHAT), request)
        self.tell(admitted.receipt)
        admitted.claim.go()
        return admitted.receipt

    async def until_asked(self) -> None:
        """Wait until the agent wants a permission."""
        while True:
            self._heard.clear()
            if await self.engine.asks.open(CHAT):
                return
            await self._heard.wait()

    async def quiet(self) -> None:
        """Allow whatever is asked until nothing goes on any more."""
        while True:
            self._heard.clear()
            for ask in await self.engine.asks.open():
                await self._allow(ask.id)
            if not self.engine.coordinator.active():
                return
            await self._heard.wait()

    async def _allow(self, ask_id: str) -> None:
        try:
            await self.engine.asks.answer_permission(ask_id, option_id="allow")
        except SpacedError as refusal:
            if refusal.code not in ("ask-expired", "ask-answered"):
                raise

    async def first(self) -> None:
        """Be the first life: one prompt at work, one queued, one steered, one permission."""
        await self.engine.start()
        await self.create()
        await self.send(FIRST)
        await self.until_asked()
        await self.send(SECOND)
        await self.send(STEER)
        await self.quiet()
        await self.engine.stop()

    async def come_back(self, earlier: Sequence[str] = ()) -> Mapping[str, Receipt]:
        """Be a later life's client: whatever may not have been answered is asked for again.

        Args:
            earlier: names of lives whose clients came back before.
        """
        await self.create()
        # A surviving agent may wait for a steer that was recorded and, since we died, never handed
        # over: the nudge is a steer of this life.
        before = [request for name in earlier for request in (nudge(name), further(name))]
        requests = [FIRST, SECOND, STEER, *before, nudge(self.name)]
        receipts = [await self.send(request) for request in requests]
        await self.quiet()
        receipts.append(await self.send(further(self.name)))
        await self.quiet()
        return {receipt.id: receipt for receipt in receipts}

    async def again(self) -> None:
        """Be a life after a kill, from its recovery on."""
        await self.engine.start()
        await self.come_back()
        await self.engine.stop()


async def log_of(storage: Storage) -> Sequence[RecordedEvent]:
    """Return the whole log."""
    return await storage.read_all(after=0, limit=1_000_000)
