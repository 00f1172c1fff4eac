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
REPLACEMENT: Final = "\ufffd"
_HIGH_SURROGATES: Final = ("\ud800", "\udbff")


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
    """One growing text field of one open item.

    Attributes:
        replaced: how many lone surrogates became U+FFFD because no other half came.
        has_tail: whether a tail was offered, so that its row has to go at the item's end.
    """

    def __init__(self, *, stored_length: int = 0) -> None:
        """Begin behind what the log already has, in code points."""
        self.replaced = 0
        self.has_tail = False
        self._stored = stored_length
        self._waiting: list[str] = []
        self._waiting_bytes = 0
        self._carried = ""
        self._safe_at: int | None = None

    def add(self, text: str, *, now: int) -> list[Due]:
        """Take text that the agent sent; with an empty text, only look at the time.

        Args:
            now: milliseconds since the epoch; only differences between calls count.

        Returns:
            What has to be written now: pieces in their order, or one tail, or nothing.
        """
        text = self._carried + text
        self._carried = text[-1:] if _is_high_surrogate(text[-1:]) else ""
        self._gather(self._storable(text[: len(text) - len(self._carried)]))
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

    def close(self) -> list[Piece]:
        """Return what is left for the log at the item's end."""
        if self._carried:
            self._gather(self._storable(self._carried))
            self._carried = ""
        return self._pieces() if self._waiting_bytes else []

    def _gather(self, text: str) -> None:
        if text:
            self._waiting.append(text)
            self._waiting_bytes += len(text.encode())

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
