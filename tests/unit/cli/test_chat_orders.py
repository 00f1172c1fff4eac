"""What a line of a chat is taken for."""

import pytest

from spaced.cli.chat.open_ask import Focus
from spaced.cli.chat.orders import Answer, Meaning, Nonsense, Order, Prompt, meaning_of
from spaced.cli.chat.screen import Line

FOCUS = Focus(ask_id="per_1", digest="d1")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("hello", Prompt(text="hello")),
        ("  keep\n  this ", Prompt(text="  keep\n  this ")),
        ("", None),
        (" \n", None),
        ("//etc", Prompt(text="/etc")),
        ("!stop that", Prompt(text="stop that", delivery="steer")),
        ("!", Prompt(text="!")),
        ("/steer stop that", Prompt(text="stop that", delivery="steer")),
        ("/send a\nb", Prompt(text="a\nb")),
        ("/queue", Order(name="queue")),
        ("/q", Order(name="quit")),
        ("/cancel 2", Order(name="cancel", rest="2")),
        ("/title  A title ", Order(name="title", rest="A title")),
        ("/export", Order(name="export")),
    ],
)
def test_a_line_is_taken_for_what_it_is(text: str, meaning: Meaning) -> None:
    """Orders begin with a slash, steers with an exclamation mark, everything else is a prompt."""
    assert meaning_of(Line(text=text, focus=None)) == meaning


@pytest.mark.parametrize("text", ["/nothing", "/", "/title", "/steer", "/etc/hosts is empty"])
def test_what_looks_like_an_order_is_never_sent_to_the_agent(text: str) -> None:
    """A slip in the name of an order is said, and not read to the agent."""
    assert isinstance(meaning_of(Line(text=text, focus=None)), Nonsense)


def test_a_line_begun_while_a_question_waited_answers_it() -> None:
    """Orders and explicit prompts still work."""
    assert isinstance(meaning_of(Line(text="y", focus=FOCUS)), Answer)
    assert meaning_of(Line(text="/queue", focus=FOCUS)) == Order(name="queue")
    assert meaning_of(Line(text="/send y", focus=FOCUS)) == Prompt(text="y")
