"""The parts of a prompt: what is taken, what is refused, and what the transcript shows."""

from collections.abc import Mapping
from typing import Any

import pytest

from spaced.domain.prompt_parts import (
    LARGEST_PROMPT,
    check_parts,
    shown_item,
    text_of,
    title_from,
)
from spaced.refusals import InvalidPrompt
from tests.unit.domain.lives import parts_of

FILE: dict[str, Any] = {"type": "file", "name": "a.txt", "mime": "text/plain"}
MENTION = {"type": "mention", "name": "src/a.py"}


def test_known_parts_pass_in_their_order() -> None:
    """With fields that only their client understands."""
    parts = ({"type": "text", "text": "x", "mine": 1}, {**FILE, "path": "/a"}, MENTION)

    assert check_parts(parts) == parts
    assert check_parts([{**FILE, "blob": "b"}]) == ({**FILE, "blob": "b"},)


def test_halves_of_characters_are_replaced() -> None:
    """What is admitted can be stored."""
    assert check_parts([{"type": "text", "text": "a\ud83d"}]) == parts_of("a\ufffd")


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({}, r"parts\[1\].type is None"),
        ({"type": "image"}, "'image', not 'text', 'file' or 'mention'"),
        ({"type": ["text"], "text": "x"}, "not 'text'"),
        ({"type": "text"}, "lacks the text 'text'"),
        ({"type": "text", "text": 5}, "lacks the text 'text'"),
        ({"type": "file", "name": "a"}, "lacks the text 'mime'"),
        ({"type": "mention"}, "lacks the text 'name'"),
        (FILE, "needs either 'blob' or 'path'"),
        ({**FILE, "path": "/a", "blob": "b"}, "needs either 'blob' or 'path'"),
        ({**FILE, "path": 5}, "needs either 'blob' or 'path'"),
    ],
    ids=repr,
)
def test_a_part_of_another_form_is_refused_with_its_place(
    part: Mapping[str, object], message: str
) -> None:
    """A client learns which of its parts is wrong, and why."""
    with pytest.raises(InvalidPrompt, match=message):
        check_parts([*parts_of("fine"), part])


def test_a_prompt_without_parts_is_refused() -> None:
    """There would be nothing to say."""
    with pytest.raises(InvalidPrompt, match="no parts"):
        check_parts([])


def test_a_prompt_may_be_as_large_as_the_limit_and_no_larger() -> None:
    """The limit is one of bytes, over all parts."""
    frame = len('[{"type":"text","text":""}]')

    assert check_parts(parts_of("x" * (LARGEST_PROMPT - frame)))
    with pytest.raises(InvalidPrompt, match="over the limit of 2,097,152 bytes"):
        check_parts(parts_of("x" * (LARGEST_PROMPT - frame + 1)))


def test_the_text_of_a_prompt_is_that_of_its_text_parts() -> None:
    """Separated by an empty line; files and mentions have none."""
    assert text_of([*parts_of("a"), MENTION, *parts_of("b")]) == "a\n\nb"
    assert text_of([MENTION]) == ""


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Fix it", "Fix it"),
        ("\n \t\n  Fix   the\tbug \nand more", "Fix the bug"),
        ("", None),
        (" \n\n", None),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
        ("x" * 78 + " yes and more", "x" * 78 + "…"),
    ],
    ids=repr,
)
def test_a_title_is_the_first_line_that_says_something(text: str, title: str | None) -> None:
    """It has at most eighty characters and no space before the mark that it was cut."""
    assert title_from(parts_of(text)) == title


def test_a_prompt_without_text_gives_no_title() -> None:
    """A name of a file would say little."""
    assert title_from([MENTION]) is None


def test_a_prompt_is_shown_as_a_message_of_the_user() -> None:
    """Files and mentions stand beside its text."""
    shown = {"type": "message", "role": "user", "content": "a", "prompt_id": "msg"}

    assert shown_item("msg", parts_of("a")) == shown
    assert shown_item("msg", [*parts_of("a"), MENTION]) == {**shown, "parts": [MENTION]}
