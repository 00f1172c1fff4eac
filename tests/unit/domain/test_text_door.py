"""The door for text from outside: halves of characters are joined or replaced, the rest passes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.domain.text_door import TextDoor, storable, storable_object, storable_text
from tests.unit.domain.any_event import JSON_VALUES, LAW

SMILE = "\U0001f600"
HIGH, LOW = "\ud83d", "\ude00"
LONE = "\ufffd"
CHARACTERS = st.sampled_from(["a", "\x00", "ä", "\u2028", SMILE, HIGH, LOW, LONE, "\ud800"])


def _whole(*pieces: str) -> tuple[str, int]:
    """Let a text pass in pieces; return it and how many halves were replaced."""
    door = TextDoor()
    text = "".join([door.accept(piece) for piece in pieces]) + door.end()
    return text, door.replaced


def _expected(whole: str) -> str:
    return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@pytest.mark.parametrize("text", [SMILE, f"a{SMILE}", f"{SMILE}b", f"a{SMILE}b{SMILE}{SMILE}c"])
def test_a_character_in_two_halves_is_joined_wherever_it_is_split(text: str) -> None:
    """Agents that count in UTF-16 cut deltas in the middle of a character."""
    halves = text.replace(SMILE, HIGH + LOW)

    for cut in range(len(halves) + 1):
        assert _whole(halves[:cut], halves[cut:]) == (text, 0)


def test_halves_that_come_one_by_one_are_joined() -> None:
    """Also with empty deltas in between."""
    assert _whole("", HIGH, "", LOW, "", HIGH, LOW) == (SMILE * 2, 0)


@pytest.mark.parametrize(
    ("deltas", "whole", "replaced"),
    [
        ([HIGH], LONE, 1),
        ([LOW], LONE, 1),
        ([HIGH, HIGH], LONE * 2, 2),
        ([HIGH, HIGH, LOW], LONE + SMILE, 1),
        ([LOW + HIGH], LONE * 2, 2),
        ([LOW, HIGH, LOW, LOW], LONE + SMILE + LONE, 2),
        ([HIGH, "a"], LONE + "a", 1),
        ([HIGH + "a" + LOW], LONE + "a" + LONE, 2),
        ([HIGH, SMILE], LONE + SMILE, 1),
        ([HIGH + SMILE + LOW], LONE + SMILE + LONE, 2),
        (["a" + HIGH], "a" + LONE, 1),
        ([LONE, LONE + HIGH], LONE * 3, 1),  # a replacement that the agent sent is no fault
        (["\ud800\udc00"], "\U00010000", 0),
        (["\udbff", "\udfff"], "\U0010ffff", 0),
        (["\udbff\udbff"], LONE * 2, 2),
    ],
)
def test_lone_halves_are_replaced_and_counted(deltas: list[str], whole: str, replaced: int) -> None:
    """No text is refused for them; what could not be stored is known."""
    assert _whole(*deltas) == (whole, replaced)


def test_a_half_at_the_end_waits_for_the_other_one() -> None:
    """What passes can be stored at any moment, so it never holds a half."""
    door = TextDoor()

    assert [door.accept("a" + HIGH), door.accept(""), door.accept(LOW)] == ["a", "", SMILE]
    assert door.end() == ""


def test_the_end_lets_a_waiting_half_pass_once() -> None:
    """Asked again, there is nothing left, and text that comes later is text of its own."""
    door = TextDoor()
    door.accept(HIGH)

    assert [door.end(), door.end(), door.accept(LOW)] == [LONE, "", LONE]
    assert door.replaced == 2


@LAW
@given(pieces=st.lists(st.text(CHARACTERS, max_size=4), max_size=12))
def test_the_pieces_make_no_difference(pieces: list[str]) -> None:
    """Whatever the splitting: the same text, and the same number of replaced halves."""
    whole = "".join(pieces)
    expected = _expected(whole)

    assert _whole(*pieces) == (expected, expected.count(LONE) - whole.count(LONE))
    assert storable_text(whole) == expected
    assert storable_text(expected) == expected


@LAW
@given(value=JSON_VALUES)
def test_what_can_be_stored_passes_as_it_is(value: object) -> None:
    """Numbers, nothing, control characters and marks of direction among it."""
    assert storable(value) == value


def test_every_text_of_a_value_passes_the_door() -> None:
    """Keys too, at any depth; a tuple becomes the list that JSON has."""
    value = {"a" + HIGH: [HIGH + LOW, {LOW: (1, HIGH)}], "n": None}

    assert storable_object(value) == {"a" + LONE: [SMILE, {LONE: [1, LONE]}], "n": None}


def test_a_storable_object_shares_nothing_with_what_came_in() -> None:
    """An agent may go on with its own object."""
    inner: list[object] = [1]
    copy = storable_object({"a": inner})

    inner.append(2)

    assert copy == {"a": [1]}
