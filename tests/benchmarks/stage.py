"""What benchmarks share: a folder, the sizes, and one large storage that is built once."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from spaced.clock import SystemClock
from spaced.domain.events.event import Event
from spaced.engine.journal import Journal
from spaced.storage.protocol import Storage
from tests.benchmarks.chats import Chat, creation, fill, new_chat, open_storage
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.sizes import Sizes

_SESSIONS_AT_ONCE = 250
_SHORT_TEXT = 300
_LONG_TEXT = 1000
_ITEMS_IN_USUAL_SESSION = 100
_EVENTS_PER_ITEM = 3
SMALL, MIDDLE, LARGE = "ses_small", "ses_middle", "ses_large"


@dataclass(slots=True, kw_only=True)
class Stage:
    """Where benchmarks take place.

    Attributes:
        folder: on a real disk; removed afterwards.
    """

    folder: Path
    sizes: Sizes
    _numbers: Iterator[int] = field(default_factory=count)
    _large_folder: Path | None = None

    def new_folder(self) -> Path:
        """Return a folder that nobody has used; it does not exist yet."""
        return self.folder / f"storage-{next(self._numbers)}"

    async def large_folder(self) -> Path:
        """Return the folder of the large storage, which is built by the first who asks."""
        if self._large_folder is None:
            folder = self.new_folder()
            storage = await open_storage(folder)
            try:
                await _build(storage, self.sizes)
            finally:
                await storage.close()
            self._large_folder = folder
        return self._large_folder


async def add_sessions(storage: Storage, number: int, *, turn_in_each: int = 0) -> list[Chat]:
    """Open many chats in bulk.

    Args:
        turn_in_each: every so-manieth has a turn behind it; with 0 none has.
    """
    journal = Journal(storage, SystemClock())
    chats = [Chat(storage, f"ses_{index:06d}") for index in range(number)]
    for first in range(0, number, _SESSIONS_AT_ONCE):
        some = chats[first : first + _SESSIONS_AT_ONCE]
        entries = [chat.entry(*_past(chat, turn_in_each)) for chat in some]
        await journal.append(*entries, bulk=True)
    return chats


def _past(chat: Chat, turn_in_each: int) -> tuple[Event, ...]:
    opening = creation(f"Look into {chat.session_id}")
    has_turn = turn_in_each and int(chat.session_id[4:]) % turn_in_each == 0
    return (*opening, *chat.past_turn()) if has_turn else opening


async def _build(storage: Storage, sizes: Sizes) -> None:
    """Fill a storage so that it has the sizes' sessions, items and events."""
    corpus = Corpus(seed=7)
    chats = await add_sessions(storage, sizes.sessions - 3, turn_in_each=5)
    await fill(await new_chat(storage, SMALL), [corpus.take(_LONG_TEXT)] * sizes.small_session)
    for name, items in ((MIDDLE, sizes.middle_session), (LARGE, sizes.large_session)):
        length = _LONG_TEXT if name == MIDDLE else _SHORT_TEXT
        texts = [corpus.around(length) for _ in range(items)]
        await fill(await new_chat(storage, name), texts)
    missing = sizes.events - await storage.head()
    for chat in chats:
        if missing < _EVENTS_PER_ITEM:
            break
        items = min(_ITEMS_IN_USUAL_SESSION, missing // _EVENTS_PER_ITEM)
        await fill(chat, [corpus.around(_SHORT_TEXT) for _ in range(items)])
        missing -= items * _EVENTS_PER_ITEM
    last = await new_chat(storage, "ses_last")
    events: list[Event] = [last.prompt() for _ in range(max(0, missing - last.version))]
    if events:
        await last.append(*events, bulk=True)
