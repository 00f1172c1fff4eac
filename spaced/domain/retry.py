"""How often and when a prompt that the agent did not take is handed over again."""

from typing import Final

MOST_ATTEMPTS: Final = 5
WINDOW_MS: Final = 10 * 60 * 1000
"""From the first attempt to the last."""

_FIRST_DELAY_MS: Final = 1000


def delay_before_next(
    attempts: int, *, begun_at: int, now: int, wanted_ms: int | None
) -> int | None:
    """Return how long to wait before the next attempt; `None`: there is to be none.

    Args:
        attempts: how many there were.
        begun_at: when the first one was.
        wanted_ms: what the agent asked for; without that the waits double from a second on.
    """
    delay = _FIRST_DELAY_MS << max(attempts - 1, 0) if wanted_ms is None else wanted_ms
    if attempts >= MOST_ATTEMPTS or now + delay - begun_at > WINDOW_MS:
        return None
    return delay
