"""Text of an open item: when it goes to the log, and what a tail is."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaced.domain.open_text import (
    BURST_BYTES,
    INTERVAL_MS,
    LONGEST_PIECE,
    PIECE_BYTES,
    OpenText,
    Piece,
    Tail,
)

SMILE = "\U0001f600"


def _add_all(text: OpenText, *deltas: str, now: int = 0) -> list[Piece]:
    """Add deltas and close; return the pieces for the log without the tails."""
    due = [part for delta in deltas for part in text.add(delta, now=now)]
    return [part for part in [*due, *text.close()] if isinstance(part, Piece)]


def test_text_below_the_limit_waits_for_the_end() -> None:
    """Small deltas cost no event each."""
    assert _add_all(OpenText(), "a" * (BURST_BYTES - 2), "b") == [
        Piece(offset=0, text="a" * (BURST_BYTES - 2) + "b")
    ]


def test_fast_text_goes_to_the_log_in_large_pieces() -> None:
    """Without time passing, the delta that reaches 64 KiB is part of the piece."""
    text = OpenText()
    text.add("a" * (BURST_BYTES - 1), now=0)

    assert text.add("b", now=0) == [Piece(offset=0, text="a" * (BURST_BYTES - 1) + "b")]
    assert text.close() == []


def test_after_a_second_a_smaller_piece_is_enough() -> None:
    """What came in that second is recorded instead of standing in a tail."""
    text = OpenText()
    text.add("a" * (PIECE_BYTES - 1), now=0)

    assert text.add("b", now=INTERVAL_MS) == [Piece(offset=0, text="a" * (PIECE_BYTES - 1) + "b")]
    assert not text.has_tail


def test_the_limit_is_counted_in_bytes_and_offsets_in_code_points() -> None:
    """A text of other alphabets is cut as early as its bytes need."""
    count = BURST_BYTES // 4
    text = OpenText()

    assert text.add(SMILE * count, now=0) == [Piece(offset=0, text=SMILE * count)]
    text.add("x", now=0)
    assert text.close() == [Piece(offset=count, text="x")]


def test_a_huge_delta_is_cut() -> None:
    """No piece comes near the limit of an append, whatever an agent sends at once."""
    pieces = OpenText().add("a" * (2 * LONGEST_PIECE + 1), now=0)

    assert [(p.offset, len(p.text)) for p in pieces] == [
        (0, LONGEST_PIECE),
        (LONGEST_PIECE, LONGEST_PIECE),
        (2 * LONGEST_PIECE, 1),
    ]


def test_an_item_that_goes_on_begins_behind_what_is_stored() -> None:
    """After a restart offsets count from the stored length."""
    text = OpenText(stored_length=7)
    text.add("abc", now=0)

    assert text.add("", now=INTERVAL_MS) == [Tail(offset=7, text="abc")]
    assert text.close() == [Piece(offset=7, text="abc")]


def test_an_item_without_text_gives_no_piece() -> None:
    """An empty answer costs no event and no row."""
    text = OpenText()

    assert text.add("", now=0) == []
    assert text.add("", now=INTERVAL_MS) == []
    assert text.close() == []
    assert not text.has_tail


def test_closing_twice_gives_the_rest_once() -> None:
    """What was handed out is not handed out again."""
    text = OpenText()
    text.add("a", now=0)

    assert text.close() == [Piece(offset=0, text="a")]
    assert text.close() == []


@pytest.mark.parametrize(
    ("moments", "offered"),
    [
        ([0], [False]),
        ([0, INTERVAL_MS - 1], [False, False]),
        ([0, INTERVAL_MS], [False, True]),
        ([0, 999, 1000, 1001, 1999, 2000], [False, False, True, False, False, True]),
        ([5000, 4999, 5000, 5999], [False, True, False, True]),
        ([5000, -(10**12), 1 - 10**12], [False, True, False]),
        ([0, 10**15], [False, True]),
        ([-1, 0], [False, False]),
    ],
)
def test_a_tail_is_offered_at_most_once_a_second(moments: list[int], offered: list[bool]) -> None:
    """A short answer needs none; a clock that jumps in either direction never silences tails."""
    text = OpenText()

    found = [text.add("x", now=moment) for moment in moments]

    assert [bool(due) and isinstance(due[0], Tail) for due in found] == offered


def test_a_tail_holds_all_that_is_not_in_the_log() -> None:
    """Recovery needs nothing else: the log's text and the tail make the whole."""
    text = OpenText()
    text.add("a" * BURST_BYTES, now=0)
    text.add("b", now=0)
    text.add("c", now=1)

    assert text.add("d", now=INTERVAL_MS) == [Tail(offset=BURST_BYTES, text="bcd")]


def test_a_text_knows_whether_a_tail_was_offered() -> None:
    """Its row goes at the item's end, also if a piece came after it."""
    text = OpenText()
    text.add("a", now=0)
    assert not text.has_tail

    text.add("b", now=INTERVAL_MS)
    text.add("c" * BURST_BYTES, now=INTERVAL_MS)

    assert text.has_tail


CHARACTERS = st.sampled_from(["a", "\x00", "ä", "\u2028", SMILE])
DELTAS = st.lists(
    st.text(CHARACTERS, max_size=4)
    | st.tuples(CHARACTERS, st.integers(1, 2 * BURST_BYTES)).map(lambda run: run[0] * run[1]),
    max_size=12,
)
TIMES = st.integers(-(10**6), 10**6)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(deltas=DELTAS, times=st.lists(TIMES, min_size=12, max_size=12), start=st.integers(0, 99))
def test_whatever_the_splitting_and_the_times_no_character_is_lost(
    deltas: list[str], times: list[int], start: int
) -> None:
    """The pieces are the whole text, and each begins where the last one ended."""
    text = OpenText(stored_length=start)

    due = [p for delta, now in zip(deltas, times, strict=False) for p in text.add(delta, now=now)]
    pieces = [part for part in [*due, *text.close()] if isinstance(part, Piece)]

    whole = "".join(deltas)
    assert "".join(piece.text for piece in pieces) == whole
    assert (text.length, text.is_safe) == (start + len(whole), True)
    assert all(b.offset == a.offset + len(a.text) for a, b in pairwise(pieces))
    assert not pieces or pieces[0].offset == start
    assert all(len(piece.text) <= LONGEST_PIECE for piece in pieces)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(deltas=DELTAS, times=st.lists(TIMES, min_size=12, max_size=12))
def test_at_any_moment_log_and_tail_are_a_beginning_of_the_whole(
    deltas: list[str], times: list[int]
) -> None:
    """A crash right after a tail was stored loses nothing."""
    text, log, whole = OpenText(), "", ""

    for delta, now in zip(deltas, times, strict=False):
        whole += delta
        for due in text.add(delta, now=now):
            if isinstance(due, Piece):
                log += due.text
            else:
                assert due.offset == len(log)
                assert log + due.text == whole
        assert text.length == len(whole)
