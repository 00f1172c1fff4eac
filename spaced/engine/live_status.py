"""What a session is doing right now; the coordinator alone knows, and nothing of it is recorded."""

from dataclasses import dataclass
from typing import Final, Literal

LiveWord = Literal["idle", "starting", "busy", "waiting", "retry", "queued"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStatus:
    """One word, and what belongs to it.

    Attributes:
        ask_ids: for `waiting`, the asks that are open.
        attempt: for `retry`, the number of the next attempt.
        message: for `retry`, why the last one failed.
        next_at: for `retry`, when the next one begins, in milliseconds since the epoch.
    """

    word: LiveWord
    ask_ids: tuple[str, ...] = ()
    attempt: int | None = None
    message: str | None = None
    next_at: int | None = None


IDLE: Final = LiveStatus(word="idle")
STARTING: Final = LiveStatus(word="starting")
BUSY: Final = LiveStatus(word="busy")
QUEUED: Final = LiveStatus(word="queued")
