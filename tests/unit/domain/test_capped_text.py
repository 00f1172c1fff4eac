"""Output of tools: what is kept of a text that is too long, whatever the pieces that it comes in."""

import tracemalloc
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaced.domain.capped_text import HEAD_BYTES, WHOLE_BYTES, CappedText, Rest, cap

SMILE = "\U0001f600"
TAIL_BYTES = WHOLE_BYTES - HEAD_BYTES


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@pytest.mark.parametrize(
    "text", ["", "a", "a" * HEAD_BYTES, "a" * (HEAD_BYTES + 1), "a" * WHOLE_BYTES]
)
def test_what_fits_is_kept_whole(text: str) -> None:
    """It has no facts, since the stored text tells everything."""
    assert cap(text) == (text, None)


def test_of_a_longer_text_the_beginning_and_the_end_are_kept() -> None:
    """A line between them says how much is missing; the facts are those of the whole."""
    text = "a" * HEAD_BYTES + "b" * 1_234_567 + "c" * TAIL_BYTES

    stored, facts = cap(text)

    marker = "\n[… 1,234,567 characters left out …]\n"
    assert stored == "a" * HEAD_BYTES + marker + "c" * TAIL_BYTES
    assert facts == {"full_length": len(text), "digest": _digest(text)}


def test_one_byte_too_much_is_left_out() -> None:
    """The limit is exact."""
    stored, facts = cap("a" * HEAD_BYTES + "b" + "c" * TAIL_BYTES)

    assert stored == "a" * HEAD_BYTES + "\n[… 1 characters left out …]\n" + "c" * TAIL_BYTES
    assert facts is not None


@pytest.mark.parametrize("before", range(5))
def test_no_cut_splits_a_character(before: int) -> None:
    """Limits are bytes, but lengths and cuts are those of code points."""
    text = "a" * before + SMILE * WHOLE_BYTES

    stored, facts = cap(text)

    beginning, _, end = stored.partition("\n[…")
    end = end.partition("]\n")[2]
    assert text.startswith(beginning)
    assert text.endswith(end)
    assert HEAD_BYTES - 4 < len(beginning.encode()) <= HEAD_BYTES
    assert WHOLE_BYTES - 4 < len((beginning + end).encode()) <= WHOLE_BYTES
    missing = len(text) - len(beginning) - len(end)
    assert f"[… {missing:,} characters left out …]" in stored
    assert facts == {"full_length": len(text), "digest": _digest(text)}


@pytest.mark.parametrize("before", range(1, 4))
def test_a_text_that_just_fits_is_kept_whole_also_if_its_middle_is_within_a_character(
    before: int,
) -> None:
    """A beginning that ends a little earlier leaves more for the end."""
    text = "a" * before + SMILE * (WHOLE_BYTES // 4 - 1) + "b" * (4 - before)

    assert len(text.encode()) == WHOLE_BYTES
    assert cap(text) == (text, None)


def test_the_beginning_goes_through_as_it_comes() -> None:
    """People watch a tool while it runs."""
    capped = CappedText()

    assert capped.add("a" * (HEAD_BYTES - 1)) == "a" * (HEAD_BYTES - 1)
    assert capped.add(SMILE) == ""
    assert capped.add("b") == ""  # it would fit, but stands behind something that did not
    assert capped.finish() == Rest(text=SMILE + "b", facts=None)


def test_a_piece_is_cut_where_the_beginning_ends() -> None:
    """What is over waits for the end."""
    capped = CappedText()

    assert capped.add("a" * HEAD_BYTES + "b") == "a" * HEAD_BYTES
    assert capped.finish().text == "b"


def test_finishing_twice_tells_the_same() -> None:
    """Asking for the rest changes nothing."""
    capped = CappedText()
    capped.add("ab" * WHOLE_BYTES)

    assert capped.finish() == capped.finish()


def test_lone_surrogates_do_no_harm() -> None:
    """They are not expected behind the door, and still no reason to lose an output."""
    text = "\ud83d" + "a" * WHOLE_BYTES + "\ude00"

    stored, facts = cap(text)

    assert stored.startswith("\ud83da")
    assert stored.endswith("a\ude00")
    assert facts == {"full_length": len(text), "digest": _digest(text)}


CHARACTERS = st.sampled_from(["a", "\x00", "ä", "€", SMILE, "\ud800"])
RUNS = st.tuples(
    CHARACTERS,
    st.integers(0, 5)
    | st.integers(HEAD_BYTES // 4 - 2, HEAD_BYTES // 4 + 2)
    | st.integers(HEAD_BYTES - 5, HEAD_BYTES + 5)
    | st.just(2 * WHOLE_BYTES),
).map(lambda run: run[0] * run[1])


@settings(deadline=None, derandomize=True, max_examples=50)
@given(pieces=st.lists(RUNS, max_size=6), at=st.integers(0, 3 * WHOLE_BYTES))
def test_the_pieces_make_no_difference(pieces: list[str], at: int) -> None:
    """A text that arrives whole is stored exactly as one that arrived in any pieces."""
    text = "".join(pieces)
    for split in (pieces, [text[:at], text[at:]], [text[:7], *pieces_of(text[7:], 40_000)]):
        capped = CappedText()
        head = "".join(map(capped.add, split))
        rest = capped.finish()

        assert (head + rest.text, rest.facts) == cap(text)
    stored, facts = cap(text)
    assert (stored == text) is (facts is None)
    assert (facts is None) is (len(text.encode("utf-8", "surrogatepass")) <= WHOLE_BYTES)


def pieces_of(text: str, size: int) -> list[str]:
    """Return a text in pieces of one size."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def test_fifty_megabytes_cost_no_memory() -> None:
    """Only the end is held, however long a tool goes on printing."""
    capped, piece = CappedText(), "x" * 64 * 1024
    tracemalloc.start()
    try:
        for _ in range(800):
            capped.add(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert capped.finish().facts is not None
    assert peak < 4 * WHOLE_BYTES


def test_tiny_pieces_cost_no_more_than_large_ones() -> None:
    """The held end is not moved for each of them, so a million of them is quick."""
    capped = CappedText()
    for _ in range(1_000_000):
        capped.add("x")

    assert capped.finish().facts == {"full_length": 1_000_000, "digest": _digest("x" * 1_000_000)}
