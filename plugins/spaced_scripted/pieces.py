"""Cuts texts into pieces, as agents that stream do.

Whatever the cut, the pieces put together are the text, and there is always at least one.
"""

import itertools
from collections.abc import Iterator
from typing import Final

PIECE_LENGTH: Final = 24
_MOST_PIECES: Final = 256


def cut(
    text: str, *, pieces: int | None = None, length: int | None = None, cut_pairs: bool = False
) -> Iterator[str]:
    """Yield a text in pieces.

    Args:
        text: may be empty and may hold lone surrogates.
        pieces: into how many; some are empty if the text is shorter.
        length: characters of each piece, where the number of pieces is not given; without either
            they are short, unless there would be hundreds of them.
        cut_pairs: count UTF-16 units, so that a piece may end in half a pair, as agents that are
            written in JavaScript do.
    """
    units = _halves(text) if cut_pairs else text
    if pieces is not None:
        marks = [len(units) * part // pieces for part in range(pieces + 1)]
    else:
        step = length or max(PIECE_LENGTH, len(units) // _MOST_PIECES)
        marks = [*range(0, max(len(units), 1), step), len(units)]
    for start, end in itertools.pairwise(marks):
        yield _whole(units[start:end]) if cut_pairs else units[start:end]


def flood(size: int, *, line_length: int, piece: int) -> Iterator[str]:
    """Yield `size` characters of numbered lines, holding no more than one piece at a time."""
    made = number = 0
    buffer = ""
    while made + len(buffer) < size:
        number += 1
        buffer += _line(number, line_length)
        while len(buffer) >= piece:
            yield buffer[: min(piece, size - made)]
            made, buffer = made + piece, buffer[piece:]
            if made >= size:
                return
    if made < size:
        yield buffer[: size - made]


def _line(number: int, length: int) -> str:
    return f"{number:0{max(length - 1, 0)}d}"[-max(length - 1, 1) :] + "\n" if length > 1 else "\n"


def _halves(text: str) -> str:
    units = text.encode("utf-16-le", "surrogatepass")
    return "".join(
        chr(int.from_bytes(units[at : at + 2], "little")) for at in range(0, len(units), 2)
    )


def _whole(units: str) -> str:
    raw = b"".join(ord(unit).to_bytes(2, "little") for unit in units)
    return raw.decode("utf-16-le", "surrogatepass")
