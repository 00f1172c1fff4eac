"""A growing text: what is announced, what is recorded, and that the way it is reported is no matter."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaced.domain.capped_text import HEAD_BYTES, WHOLE_BYTES, cap
from spaced.domain.growing_text import GrowingText
from spaced.domain.open_text import BURST_BYTES, INTERVAL_MS, Due, Piece, Tail
from spaced.domain.text_door import REPLACEMENT, storable_text

SMILE = "\U0001f600"
HIGH, LOW = "\ud83d", "\ude00"
CHARACTERS = st.sampled_from(["a", "\x00", "ä", SMILE, HIGH, LOW, REPLACEMENT])
RUNS = st.sampled_from(["x", "ä", SMILE]).flatmap(
    lambda character: st.sampled_from([BURST_BYTES, HEAD_BYTES - 1, 2 * WHOLE_BYTES]).map(
        lambda count: character * count
    )
)
DELTAS = st.lists(st.text(CHARACTERS, max_size=4) | RUNS, max_size=6)
LAW = settings(deadline=None, derandomize=True, max_examples=60)


def _texts(due: Sequence[Due]) -> str:
    return "".join(part.text for part in due if isinstance(part, Piece))


def _expected(whole: str, *, is_capped: bool) -> tuple[str, dict[str, object]]:
    """Return what is stored of a text that comes in one piece, and the facts about it."""
    text = storable_text(whole)
    stored, facts = cap(text) if is_capped else (text, None)
    replaced = text.count(REPLACEMENT) - whole.count(REPLACEMENT)
    return stored, {**(facts or {}), **({"replaced": replaced} if replaced else {})}


@LAW
@given(deltas=DELTAS, is_capped=st.booleans(), begins=st.booleans(), data=st.data())
def test_any_way_of_reporting_a_text_stores_the_same(
    deltas: list[str], is_capped: bool, begins: bool, data: st.DataObject
) -> None:
    """As deltas, as the whole text so far, or mixed; with the first part in the item or not."""
    growing, told, stored = GrowingText(is_capped=is_capped), "", ""
    for place, delta in enumerate(deltas):
        told += delta
        if begins and place == 0:
            stored = growing.begin(delta)
            continue
        rest = growing.beyond(told) if data.draw(st.booleans()) else delta
        assert rest == delta
        growth = growing.grow(delta, now=data.draw(st.integers(0, 3 * INTERVAL_MS)))
        stored += _texts(growth.due)
    ending = growing.close()

    stored += _texts(ending.pieces)
    assert (stored, ending.facts) == _expected(told, is_capped=is_capped)
    assert (growing.length, growing.is_safe) == (len(stored), True)


@LAW
@given(deltas=DELTAS, start=st.integers(0, 9))
def test_what_is_announced_stands_in_the_stored_text_at_its_offset(
    deltas: list[str], start: int
) -> None:
    """Announced text and recorded text can be put together in any order."""
    growing, stored, announced = GrowingText(is_capped=True, stored_length=start), "", []
    for delta in deltas:
        growth = growing.grow(delta, now=0)
        stored += _texts(growth.due)
        announced.append((growth.offset, growth.text))
    stored = " " * start + stored + _texts(growing.close().pieces)

    assert all(stored[at : at + len(text)] == text for at, text in announced)
    assert all(at <= len(stored) for at, _ in announced)


@LAW
@given(pieces=st.lists(st.text(CHARACTERS, max_size=4), max_size=5), other=st.text(CHARACTERS))
def test_a_whole_text_extends_what_was_reported_or_is_another_one(
    pieces: list[str], other: str
) -> None:
    """Only a text with the same beginning goes on with it, whatever the pieces were."""
    growing, told = GrowingText(is_capped=False), "".join(pieces)
    for piece in pieces:
        growing.grow(piece, now=0)

    expected = other[len(told) :] if other.startswith(told) else None
    assert growing.beyond(other) == expected
    assert growing.beyond(told + other) == other


def test_a_text_goes_on_behind_what_the_log_has() -> None:
    """After a restart it is as if all of it had been reported here."""
    growing = GrowingText.stored("abc", is_capped=False)

    assert growing.length == 3
    assert growing.beyond("abcd") == "d"
    assert growing.beyond("abx") is None
    assert growing.grow("d", now=0).offset == 3
    assert growing.close().pieces == [Piece(offset=3, text="d")]


def test_a_capped_text_goes_on_within_its_cap() -> None:
    """What the log has already counts as its beginning."""
    before, more = "a" * HEAD_BYTES, "b" * WHOLE_BYTES
    growing = GrowingText.stored(before, is_capped=True)

    growth, ending = growing.grow(more, now=0), growing.close()

    assert (growth.text, growth.due) == ("", [])
    stored = before + _texts(ending.pieces)
    assert (stored, ending.facts) == _expected(before + more, is_capped=True)


def test_a_stored_text_beyond_the_cap_is_not_capped_again() -> None:
    """Its end is there already; capping it would drop what the log has."""
    growing = GrowingText.stored("a" * (HEAD_BYTES + 1), is_capped=True)

    assert growing.grow("b", now=0).text == "b"
    assert growing.close().facts == {}


def test_half_a_character_waits_outside_of_the_tail() -> None:
    """A tail can be stored at any moment, so it never holds a half."""
    growing = GrowingText(is_capped=False)
    growing.grow("a" + HIGH, now=0)

    assert growing.grow("", now=INTERVAL_MS).due == [Tail(offset=0, text="a")]
    assert growing.grow(LOW, now=2 * INTERVAL_MS).due == [Tail(offset=0, text="a" + SMILE)]
    assert growing.has_tail


def test_half_a_character_alone_offers_no_tail() -> None:
    """There is nothing to be stored yet."""
    growing = GrowingText(is_capped=False)
    growing.grow(HIGH, now=0)

    assert growing.grow("", now=INTERVAL_MS).due == []
    assert not growing.has_tail


def test_a_character_that_is_split_between_the_item_and_its_first_text_is_joined() -> None:
    """The half waits until the other one comes."""
    growing = GrowingText(is_capped=False)

    assert growing.begin("a" + HIGH) == "a"
    assert growing.grow(LOW, now=0).text == SMILE
    assert growing.close().pieces == [Piece(offset=1, text=SMILE)]


def test_a_text_is_safe_once_the_log_has_it() -> None:
    """A tail alone is no fact yet."""
    growing = GrowingText(is_capped=False)
    moments = [growing.is_safe]

    growing.grow("a", now=0)
    growing.grow("", now=INTERVAL_MS)
    moments.append(growing.is_safe)

    growing.grow("b" * BURST_BYTES, now=INTERVAL_MS)
    assert [*moments, growing.is_safe] == [True, False, True]


@pytest.mark.parametrize("is_capped", [True, False])
def test_text_behind_the_end_is_kept_whole(is_capped: bool) -> None:
    """The facts of the cap are written, so nothing of it is left out any more."""
    growing = GrowingText(is_capped=is_capped)
    growing.grow("abc", now=0)
    growing.close()
    late = growing.after_end()

    assert late.beyond("abcd") == "d"
    assert late.grow("d" * WHOLE_BYTES * 2, now=0).offset == 3
    assert (late.is_safe, late.close().facts, late.has_tail) == (True, {}, False)


def test_replaced_halves_are_counted_over_the_end_of_an_item() -> None:
    """The item says how many there are in all."""
    growing = GrowingText(is_capped=False)
    growing.grow(LOW + HIGH, now=0)
    assert growing.close().facts == {"replaced": 2}

    late = growing.after_end()
    late.grow(LOW, now=0)
    assert late.close().facts == {"replaced": 3}
    assert late.after_end().close().facts == {}
