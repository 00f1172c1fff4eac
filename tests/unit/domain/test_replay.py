"""What an agent remembers against what the log has."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.domain.replay import compare

_words = st.text(alphabet="abc ", max_size=6)
_entries = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["user", "assistant"]), _words),
        st.tuples(st.just("call"), st.sampled_from(["c1", "c2", "c3", "c4", "c5"])),
    ),
    max_size=12,
)
Pairs = list[tuple[str, str]]


def items(pairs: Pairs) -> list[dict[str, Any]]:
    """Return items of the log."""
    return [
        {"type": "tool-call", "call_id": words}
        if role == "call"
        else {"type": "message", "role": role, "content": words}
        for role, words in pairs
    ]


def told(pairs: Pairs) -> list[dict[str, Any]]:
    """Return what an agent tells."""
    return [
        {"type": "tool-call", "call_id": words}
        if role == "call"
        else {"type": "message", "role": role, "text": words}
        for role, words in pairs
    ]


TALK: Pairs = [
    ("user", "Do it"),
    ("assistant", "I will"),
    ("call", "c1"),
    ("assistant", "Done"),
    ("user", "And now?"),
    ("assistant", "Nothing more"),
]


def verdict(ours: Pairs, theirs: Pairs) -> str:
    """Return what a comparison comes to."""
    return compare(items(ours), told(theirs)).verdict


@given(_entries)
def test_the_same_is_the_same(pairs: Pairs) -> None:
    """Whatever was said."""
    assert verdict(pairs, pairs) == "same"


@given(_entries)
def test_an_agent_that_tells_more_from_before_is_the_same(pairs: Pairs) -> None:
    """We look at the end of the log alone; where it begins is of no interest."""
    earlier: Pairs = [("user", "xyz"), ("assistant", "zyx")]
    assert verdict(pairs or TALK, earlier + (pairs or TALK)) == "same"


@pytest.mark.parametrize("cut", range(1, len(TALK)))
def test_an_agent_without_the_end_is_behind(cut: int) -> None:
    """As every agent is that was killed in the middle of an answer."""
    found = compare(items(TALK), told(TALK[:cut]))
    assert (found.verdict, found.missing, found.more) == ("agent-behind", len(TALK) - cut, 0)


def test_an_agent_that_went_on_alone_is_ahead() -> None:
    """Some finish the turn while they load it."""
    found = compare(items(TALK), told([*TALK, ("call", "c9"), ("assistant", "By the way")]))
    assert (found.verdict, found.missing, found.more) == ("agent-ahead", 0, 2)


def test_an_agent_that_finished_a_cut_answer_is_ahead() -> None:
    """What we have is the beginning of what it has."""
    assert verdict([*TALK[:-1], ("assistant", "Nothing")], TALK) == "agent-ahead"


def test_an_agent_with_half_an_answer_is_behind() -> None:
    """What it has is the beginning of what we have."""
    assert verdict(TALK, [*TALK[:-1], ("assistant", "Nothing")]) == "agent-behind"


def test_an_agent_that_knows_nothing_has_forgotten() -> None:
    """It is given the transcript anew then."""
    assert verdict(TALK, []) == "forgotten"
    assert verdict([], []) == "same"


def test_a_session_without_a_transcript_tells_nothing() -> None:
    """It goes on where another one has ended, and that one's words are not its own."""
    assert verdict([], TALK) == "same"


def test_an_agent_that_tells_another_story_has_diverged() -> None:
    """Something is missing that is not the end."""
    assert verdict(TALK, [TALK[0], *TALK[2:]]) == "diverged"
    assert verdict(TALK, [("user", "Who are you?"), ("assistant", "Me")]) == "diverged"


def test_a_prompt_may_come_with_more_around_it() -> None:
    """Instructions and what was said before go over with it."""
    theirs: Pairs = [("user", "Context: bla.\n\nDo it"), *TALK[1:]]
    assert verdict(TALK, theirs) == "same"


def test_prompts_that_went_over_together_may_be_told_as_one() -> None:
    """Two of ours, one of theirs."""
    ours: Pairs = [("user", "first"), ("user", "second"), ("assistant", "ok")]
    assert verdict(ours, [("user", "first\n\nsecond"), ("assistant", "ok")]) == "same"


def test_spaces_and_line_ends_make_no_difference() -> None:
    """Agents put their own between the parts."""
    assert verdict([("assistant", "a  b\n\nc")], [("assistant", "a b\nc")]) == "same"


def test_thoughts_and_events_are_left_out() -> None:
    """Many agents do not keep what they think, and none knows of our notes."""
    ours = [
        *items(TALK),
        {"type": "reasoning", "content": "hm"},
        {"type": "event", "event": "x"},
        {"type": "message", "role": "assistant", "content": "later", "background": True},
    ]
    thoughts = [{"type": "reasoning", "role": "assistant", "text": "other"}]
    assert compare(ours, [*thoughts, *told(TALK)]).verdict == "same"


@given(_entries, _entries)
def test_every_two_tellings_can_be_compared(ours: Pairs, theirs: Pairs) -> None:
    """And the numbers fit the verdict."""
    found = compare(items(ours), told(theirs))
    if found.verdict == "same":
        assert (found.missing, found.more) == (0, 0)
    if found.verdict == "agent-behind":
        assert (found.missing > 0, found.more) == (True, 0)
    if found.verdict == "agent-ahead":
        assert (found.missing, found.more > 0) == (0, True)
