"""One growing text: every code point reaches the screen once, and what is not so is taken back."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.cli.chat.shown_text import Change, ShownText


@dataclass
class Reader:
    """A person in front of the screen, who strikes out what is taken back."""

    text: ShownText = field(default_factory=ShownText)
    seen: str = ""
    taken_back: str = ""

    def take(self, change: Change) -> None:
        """Read on."""
        if change.is_anew:
            self.seen = ""
        if change.wrong:
            assert self.seen.endswith(change.wrong), "only what stands at the end can be wrong"
            self.seen = self.seen.removesuffix(change.wrong)
            self.taken_back += change.wrong
        self.seen += change.text


def test_announced_text_is_shown_at_once() -> None:
    """A reply appears while it is written."""
    reader = Reader()

    reader.take(reader.text.announce(0, "Good "))
    reader.take(reader.text.announce(5, "morning"))

    assert reader.seen == "Good morning"


@pytest.mark.parametrize(
    ("offset", "text"), [(0, "Good "), (5, "morning"), (0, "Good morning"), (3, "d mor")]
)
def test_what_is_recorded_after_it_was_announced_is_not_shown_again(offset: int, text: str) -> None:
    """The log repeats what was announced, in pieces of its own."""
    reader = Reader()
    reader.take(reader.text.announce(0, "Good morning"))

    reader.take(reader.text.append(0, "Good morning"[:offset]))
    reader.take(reader.text.append(offset, text))

    assert reader.seen == "Good morning"


def test_offsets_count_code_points() -> None:
    """A letter beyond the first plane is one, not two."""
    reader = Reader()

    reader.take(reader.text.announce(0, "a\U0001f600"))
    reader.take(reader.text.append(0, "a\U0001f600b"))
    reader.take(reader.text.announce(3, "c"))

    assert reader.seen == "a\U0001f600bc"


def test_announced_text_waits_for_what_is_missing_before_it() -> None:
    """Whoever begins to listen in the middle hears the end of a text before its beginning."""
    reader = Reader()

    reader.take(reader.text.announce(5, "morning"))
    assert reader.seen == ""
    reader.take(reader.text.append(0, "Good "))

    assert reader.seen == "Good morning"


def test_what_was_announced_and_comes_again_after_a_gap_is_not_shown_again() -> None:
    """A connection that is cut loses nothing and repeats nothing."""
    reader = Reader()
    reader.take(reader.text.append(0, "Good "))
    reader.take(reader.text.announce(5, "mor"))

    reader.text.reconnect()
    reader.take(reader.text.announce(5, "morning"))

    assert (reader.seen, reader.taken_back) == ("Good morning", "")


def test_what_a_crash_has_lost_is_taken_back_at_the_end() -> None:
    """What was announced last is not in the log after a crash, so it must not stand there."""
    reader = Reader()
    reader.take(reader.text.append(0, "Good "))
    reader.take(reader.text.announce(5, "morning"))

    reader.text.reconnect()
    reader.take(reader.text.append(5, "mor"))
    reader.take(reader.text.close())

    assert (reader.seen, reader.taken_back) == ("Good mor", "ning")


def test_what_goes_on_differently_after_a_crash_is_taken_back() -> None:
    """An agent that was taken up again may say something else from there on."""
    reader = Reader()
    reader.take(reader.text.announce(0, "Good morning"))

    reader.text.reconnect()
    reader.take(reader.text.append(0, "Good evening"))

    assert (reader.seen, reader.taken_back) == ("Good evening", "morning")


def test_a_text_that_is_written_anew_keeps_its_beginning() -> None:
    """An agent that corrects itself reports the whole text."""
    reader = Reader()
    reader.take(reader.text.append(0, "Good morning"))

    reader.take(reader.text.replace("Good evening"))

    assert (reader.seen, reader.taken_back) == ("Good evening", "morning")


def test_a_closed_text_that_is_told_again_is_not_shown_again() -> None:
    """A rewrite with nothing new is nothing."""
    reader = Reader()
    reader.take(reader.text.append(0, "Good morning"))
    reader.take(reader.text.close())

    reader.take(reader.text.replace("Good morning"))

    assert reader.seen == "Good morning"


def test_a_closed_text_that_changes_is_shown_anew() -> None:
    """Of a closed text nothing is kept, so the whole is shown."""
    reader = Reader()
    reader.take(reader.text.append(0, "Good morning"))
    reader.take(reader.text.close())

    reader.take(reader.text.replace("Good evening"))

    assert reader.seen == "Good evening"


def test_text_that_comes_after_the_end_is_shown() -> None:
    """Output may come late."""
    reader = Reader()
    reader.take(reader.text.append(0, "Good"))
    reader.take(reader.text.close())

    reader.take(reader.text.announce(4, " morning"))
    reader.take(reader.text.append(4, " morning"))
    reader.take(reader.text.replace("Good morning"))

    assert reader.seen == "Good morning"


LETTERS = "ab\n\u00e9\U0001f600"
STEPS = st.lists(st.sampled_from(["announce", "record", "gap"]), max_size=12)


@given(data=st.data(), whole=st.text(alphabet=LETTERS, max_size=40), steps=STEPS)
def test_any_split_is_shown_exactly_once(data: st.DataObject, whole: str, steps: list[str]) -> None:
    """Whatever is announced, recorded, repeated or cut off in between: the text is there once."""
    reader, recorded, announced = Reader(), 0, 0
    for step in steps:
        if step == "record":
            end = data.draw(st.integers(recorded, len(whole)))
            reader.take(reader.text.append(recorded, whole[recorded:end]))
            recorded, announced = end, max(announced, end)
            continue
        start = data.draw(st.integers(0, announced))
        if step == "gap":
            # What is told behind a gap begins where the record ends, and may have grown.
            reader.text.reconnect()
            start = recorded
        announced = data.draw(st.integers(announced, len(whole)))
        reader.take(reader.text.announce(start, whole[start:announced]))
    reader.take(reader.text.append(recorded, whole[recorded:]))
    reader.take(reader.text.close())

    assert (reader.seen, reader.taken_back) == (whole, "")


@given(data=st.data(), whole=st.text(alphabet="ab", min_size=1, max_size=30))
def test_after_a_crash_exactly_what_is_recorded_remains(data: st.DataObject, whole: str) -> None:
    """Announced text that the log never gets is taken back, to the letter."""
    kept = data.draw(st.integers(0, len(whole)))
    recorded = data.draw(st.integers(0, kept))
    reader = Reader()
    reader.take(reader.text.append(0, whole[:recorded]))
    reader.take(reader.text.announce(recorded, whole[recorded:]))

    reader.text.reconnect()
    reader.take(reader.text.append(recorded, whole[recorded:kept]))
    reader.take(reader.text.close())

    assert (reader.seen, reader.taken_back) == (whole[:kept], whole[kept:])
