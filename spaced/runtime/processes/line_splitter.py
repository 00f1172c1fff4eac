"""Cuts a stream of bytes into lines, each in time proportional to its length."""

from collections import deque

from spaced.errors import LineTooLong


class LineSplitter:
    """Takes blocks and gives lines; a line ends with a line feed and nothing else.

    Where the blocks end makes no difference to the lines, nor to which line is too long.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines: deque[bytes] = deque()
        self._pieces: list[bytes] = []
        self._length = 0
        self._is_too_long = False

    def feed(self, block: bytes) -> None:
        """Take the next bytes."""
        first, *others = block.split(b"\n")
        self._add(first)
        for piece in others:
            self._finish()
            self._add(piece)

    def end(self) -> None:
        """Take the end of the stream: what came after the last line end is a line too."""
        if self._length:
            self._finish()

    def take(self) -> bytes | None:
        """Return the next line; `None`: more bytes are needed for it.

        Raises:
            LineTooLong: it is longer than the limit; nothing can be taken any more.
        """
        if self._lines:
            return self._lines.popleft()
        if self._is_too_long:
            raise LineTooLong(f"a line of output is longer than {self._limit} bytes")
        return None

    def _add(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > self._limit:
            self._is_too_long = True
            self._pieces.clear()
        if piece and not self._is_too_long:
            self._pieces.append(piece)

    def _finish(self) -> None:
        if not self._is_too_long:
            self._lines.append(b"".join(self._pieces))
        self._pieces.clear()
        self._length = 0
