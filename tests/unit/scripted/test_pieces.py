"""Texts are cut into pieces and never changed."""

from hypothesis import given
from hypothesis import strategies as st

from spaced_scripted.pieces import cut, flood

TEXTS = st.text(st.characters(codec=None, categories=None))
"""Any code points, lone surrogates among them."""


def _units(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


@given(TEXTS, st.none() | st.integers(1, 50))
def test_pieces_of_a_length_are_the_text(text: str, length: int | None) -> None:
    """No piece is longer than asked for, and there is always one."""
    pieces = list(cut(text, length=length))
    assert "".join(pieces) == text
    assert pieces
    assert all(len(piece) <= (length or max(24, len(text) // 256)) for piece in pieces)


@given(TEXTS, st.integers(1, 50))
def test_there_are_as_many_pieces_as_asked_for(text: str, count: int) -> None:
    """Some are empty if the text is short."""
    pieces = list(cut(text, pieces=count))
    assert "".join(pieces) == text
    assert len(pieces) == count


@given(TEXTS, st.integers(1, 5))
def test_pairs_that_are_cut_come_together_again(text: str, length: int) -> None:
    """In UTF-16 the pieces are the text, wherever they end."""
    pieces = list(cut(text, length=length, cut_pairs=True))
    assert b"".join(map(_units, pieces)) == _units(text)
    assert all(len(_units(piece)) <= 2 * length for piece in pieces)


def test_a_pair_is_cut_in_half() -> None:
    """So that the daemon meets what it has to mend."""
    assert list(cut("\U0001f600", length=1, cut_pairs=True)) == ["\ud83d", "\ude00"]


def test_an_empty_text_is_one_empty_piece() -> None:
    """It opens an item that has nothing in it."""
    assert list(cut("")) == [""]


@given(st.integers(0, 5000), st.integers(1, 90), st.integers(1, 700))
def test_a_flood_is_as_large_as_asked_for(size: int, line_length: int, piece: int) -> None:
    """To the character, in lines, and in pieces no larger than asked for."""
    pieces = list(flood(size, line_length=line_length, piece=piece))
    text = "".join(pieces)
    assert len(text) == size
    assert all(0 < len(part) <= piece for part in pieces)
    assert all(len(line) < line_length for line in text.split("\n"))
