"""Frames of a stream as a person reads them."""

import pytest

from spaced.cli.chat.frame_lines import line_of
from spaced.client.sse import Frame
from tests.unit.cli.chat_frames import appended, delta, event, live, recorded, status


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (appended("i1", "message", role="user", content="fix\nit"), "user message: fix it"),
        (appended("i1", "tool-call", title="Look"), "tool-call: Look"),
        (recorded("i1", 0, "Good morning"), "Good morning"),
        (event("turn-ended", turn_id="turn_1", outcome="completed"), "outcome=completed"),
        (event("prompt-admitted", parts=[{"type": "text", "text": "hi"}]), "hi"),
        (status("retry", message="overloaded"), "retry overloaded"),
        (event("something-new", field="value"), "field=value"),
    ],
)
def test_a_frame_says_what_it_is_about(frame: Frame, told: str) -> None:
    """One line, with its kind and what tells most."""
    line = line_of(frame, is_wanted=False, shows_session=False)

    assert line is not None
    assert frame.name in line
    assert line.endswith(told)


def test_a_line_begins_with_the_time() -> None:
    """The one at which it happened."""
    frame = Frame(name="run-created", data={"created_at": "2026-12-01T09:30:00.000Z", "body": {}})

    assert line_of(frame, is_wanted=False, shows_session=False) == "09:30:00 run-created"


@pytest.mark.parametrize("frame", [live(), delta("i1", 0, "a")])
def test_frames_for_programs_are_left_out_unless_they_are_wanted(frame: Frame) -> None:
    """A person reads the text once it is recorded."""
    assert line_of(frame, is_wanted=False, shows_session=False) is None
    assert line_of(frame, is_wanted=True, shows_session=False) is not None


def test_a_stream_of_everything_names_the_session() -> None:
    """Otherwise nobody can tell them apart."""
    line = line_of(event("turn-ended", outcome="failed"), is_wanted=False, shows_session=True)

    assert line is not None
    assert "ses_1 turn-ended" in line


def test_a_line_cannot_move_the_cursor() -> None:
    """What stands in the log was written by somebody else."""
    frame = appended("i1", "message", role="user", content="a\x1b[2J\u202eb")

    assert "a\\x1b[2J\\u202eb" in str(line_of(frame, is_wanted=False, shows_session=False))
