"""Text of an open item on its way into the log: in pieces of 16 KiB, and a tail in between.

Small pieces would each cost an event; waiting for the end would lose a long answer in a crash. So
text gathers until 16 KiB are there, which go to the log as one piece. What came since then is
offered as a tail at most once a second: one row that is written over, and only read by recovery.
"""

from dataclasses import dataclass
from typing import Final

PIECE_BYTES: Final = 16 * 1024
TAIL_INTERVAL_MS: Final = 1000
_HIGH_SURROGATES: Final = ("\ud800", "\udbff")
REPLACEMENT: Final = "\ufffd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Text for the log.

    Attributes:
        offset: where it begins, in code points of the field's text.
    """

    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail(Piece):
    """Text for the open tail; it goes to the log later, with what follows it."""


class OpenText:
    """One growing text field of one open item.

    Attributes:
        replaced: how many lone surrogates became U+FFFD because no other half came.
    """

    def __init__(self, *, stored_length: int = 0) -> None:
        """Begin behind what the log already has, in code points."""
        self.replaced = 0
        self._stored = stored_length
        self._waiting: list[str] = []
        self._waiting_bytes = 0
        self._carried = ""
        self._tail_at: int | None = None

    @property
    def has_tail(self) -> bool:
        """Whether a tail was offered, so that its row has to go at the item's end."""
        return self._tail_at is not None

    def add(self, text: str, *, now: int) -> Piece | None:
        """Take text that the agent sent.

        Args:
            now: milliseconds since the epoch; only differences between calls count.

        Returns:
            A `Piece` to be recorded, a `Tail` to be written, or nothing yet.
        """
        text = self._carried + text
        self._carried = text[-1:] if _is_high_surrogate(text[-1:]) else ""
        self._gather(self._storable(text[: len(text) - len(self._carried)]))
        if self._waiting_bytes >= PIECE_BYTES:
            return self._piece()
        is_due = self._tail_at is None or not 0 <= now - self._tail_at < TAIL_INTERVAL_MS
        if not self._waiting_bytes or not is_due:
            return None
        self._tail_at = now
        return Tail(offset=self._stored, text="".join(self._waiting))

    def close(self) -> Piece | None:
        """Return what is left for the log at the item's end."""
        if self._carried:
            self._gather(self._storable(self._carried))
            self._carried = ""
        return self._piece() if self._waiting_bytes else None

    def _gather(self, text: str) -> None:
        if text:
            self._waiting.append(text)
            self._waiting_bytes += len(text.encode())

    def _piece(self) -> Piece:
        piece = Piece(offset=self._stored, text="".join(self._waiting))
        self._stored += len(piece.text)
        self._waiting.clear()
        self._waiting_bytes = 0
        return piece

    def _storable(self, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            # Halves that belong together become one character; the others cannot be stored.
            joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            self.replaced += joined.count(REPLACEMENT) - text.count(REPLACEMENT)
            return joined
        return text


def _is_high_surrogate(character: str) -> bool:
    first, last = _HIGH_SURROGATES
    return first <= character <= last
