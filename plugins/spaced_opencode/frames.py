"""Reads server-sent events: bytes in pieces become the objects that frames carry. No input here."""

import json
from typing import Any, Final

LARGEST_FRAME: Final = 64 * 1024 * 1024
"""Bytes; a tool's whole output of several megabytes comes as a single frame."""


class FrameTooLarge(Exception):
    """A frame does not end; what follows it cannot be read either."""


class FrameReader:
    """Splits a stream into frames.

    Attributes:
        garbage: how many frames were no JSON object.
    """

    def __init__(self, largest: int = LARGEST_FRAME) -> None:
        self.garbage = 0
        self._largest = largest
        self._rest: list[bytes] = []
        self._size = 0
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[dict[str, Any]]:
        """Return the objects of all frames that end in this piece, in their order.

        Raises:
            FrameTooLarge: a frame is larger than a frame may be.
        """
        found: list[dict[str, Any]] = []
        # Each byte is looked at once: a frame of megabytes comes in hundreds of pieces.
        *lines, rest = piece.split(b"\n")
        for line in lines:
            whole = b"".join([*self._rest, line]).rstrip(b"\r")
            self._rest.clear()
            self._take(whole, found)
        self._rest.append(rest)
        self._size += len(piece)
        if not any(self._rest) and not self._data:
            self._size = 0
        if self._size > self._largest:
            raise FrameTooLarge
        return found

    def _take(self, line: bytes, found: list[dict[str, Any]]) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            content, self._data = b"\n".join(self._data), []
            self._size = 0
            event = read_object(content)
            if event is None:
                self.garbage += 1
            else:
                found.append(event)


def read_object(content: bytes | str) -> dict[str, Any] | None:
    """Return a JSON object; `None`: it is none."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
