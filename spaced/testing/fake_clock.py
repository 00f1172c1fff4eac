"""A clock that a test moves by hand."""

from typing import Final

from spaced.clock import Timestamp

START: Final = Timestamp(1_796_117_400_000)
"""2026-12-01T09:30:00.000Z."""


class FakeClock:
    """Stands still until it is moved; it may be set back, as a machine's clock can be."""

    def __init__(self, start: int = START) -> None:
        self._now = Timestamp(start)

    def now(self) -> Timestamp:
        """Return the time that the test has set."""
        return self._now

    def advance(self, *, milliseconds: int = 0, seconds: int = 0) -> None:
        """Move the time; a negative amount moves it back."""
        self._now = Timestamp(self._now + milliseconds + seconds * 1000)
