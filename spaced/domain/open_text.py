"""Text of an open item on its way into the log: in pieces, and a tail in between.

Small pieces would each cost an event; waiting for the end would lose a long answer in a crash. So
text gathers, and once a second what came is made safe: as a piece for the log when it is 16 KiB or
more, otherwise as a tail, one row that is written over and only read by recovery. Text that comes
faster than 64 KiB a second is recorded every 64 KiB: each piece is a commit, and commits of 16 KiB
would write half as much again for nothing, since a crash still costs at most a second.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

PIECE_BYTES: Final = 16 * 1024
BURST_BYTES: Final = 64 * 1024
LONGEST_PIECE: Final = 256 * 1024
"""Code points; a larger delta is cut, so that no piece comes near the limit of an append."""

INTERVAL_MS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Text for the log.

    Attributes:
        offset: where it begins, in code points of the field's text.
    """

    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """Text for the open tail; it goes to the log later, with what follows it.

    Attributes:
        offset: where it begins, in code points of the field's text.
    """

    offset: int
    text: str


Due: TypeAlias = Piece | Tail


class OpenText:
    """One growing text field of one open item; what goes in can be stored as it is.

    Attributes:
        has_tail: whether a tail was offered, so that its row has to go at the item's end.
    """

    def __init__(self, *, stored_length: int = 0) -> None:
        """Begin behind what the log already has, in code points."""
        self.has_tail = False
        self._stored = stored_length
        self._waiting: list[str] = []
        self._waiting_bytes = 0
        self._length = stored_length
        self._safe_at: int | None = None

    def add(self, text: str, *, now: int) -> list[Due]:
        """Take further text; with an empty text, only look at the time.

        Args:
            now: milliseconds since the epoch; only differences between calls count.

        Returns:
            What has to be written now: pieces in their order, or one tail, or nothing.
        """
        self._gather(text)
        if self._safe_at is None:
            self._safe_at = now
        # A clock that jumped back tells nothing about how long the text has waited.
        is_late = not 0 <= now - self._safe_at < INTERVAL_MS
        if self._waiting_bytes >= (PIECE_BYTES if is_late else BURST_BYTES):
            self._safe_at = now
            return [*self._pieces()]
        if not self._waiting_bytes or not is_late:
            return []
        self._safe_at = now
        self.has_tail = True
        return [Tail(offset=self._stored, text="".join(self._waiting))]

    def close(self, text: str = "") -> list[Piece]:
        """Return what is left for the log at the item's end, with a last text."""
        self._gather(text)
        return self._pieces() if self._waiting_bytes else []

    @property
    def is_safe(self) -> bool:
        """Whether the log holds all that came."""
        return not self._waiting

    @property
    def length(self) -> int:
        """Code points that came so far, recorded or not."""
        return self._length

    def _gather(self, text: str) -> None:
        if text:
            self._waiting.append(text)
            self._waiting_bytes += len(text.encode())
            self._length += len(text)

    def _pieces(self) -> list[Piece]:
        text = "".join(self._waiting)
        pieces = [
            Piece(offset=self._stored + start, text=text[start : start + LONGEST_PIECE])
            for start in range(0, len(text), LONGEST_PIECE)
        ]
        self._stored += len(text)
        self._waiting.clear()
        self._waiting_bytes = 0
        return pieces
