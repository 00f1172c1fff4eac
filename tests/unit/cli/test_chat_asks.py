"""Permissions and questions in a chat: how they look, and what a line means that answers one."""

from typing import Any

import pytest

from spaced.cli.chat.asks import PermissionReply, QuestionReply, Unclear
from spaced.cli.chat.chat_view import ChatView
from spaced.client.sse import Frame
from tests.unit.cli.chat_frames import CHAT, begun, event, live, printed, session, status

OPTIONS = [
    {"option_id": "allow", "name": "Allow once", "kind": "allow_once"},
    {"option_id": "always", "name": "Always allow", "kind": "allow_always"},
    {"option_id": "reject", "name": "Reject", "kind": "reject_once"},
]
CALL = {"call_id": "c", "name": "run", "title": "Run date", "arguments": '{"command":"date"}'}


def permission(ask_id: str = "per_1", *, digest: str = "d1", **fields: Any) -> Frame:
    """Return a permission that is asked for."""
    told = {"tool_kind": "execute", "tool_call": CALL, "options": OPTIONS, "subject": "date"}
    return event("permission-asked", ask_id=ask_id, digest=digest, **{**told, **fields})


def question(*questions: dict[str, Any]) -> Frame:
    """Return a question that is asked."""
    return event("question-asked", ask_id="que_1", questions=list(questions))


def asked(frame: Frame) -> ChatView:
    """Return a chat in which something was asked and is on the screen."""
    view = begun()
    printed(view, frame, status("waiting"))
    return view


def answer(view: ChatView, line: str) -> Any:
    """Answer what a line would answer now."""
    assert view.asks.focus is not None
    return view.asks.answer(line, view.asks.focus)


def test_a_permission_shows_the_exact_call_and_the_options() -> None:
    """Who answers sees what would run, and what can be typed."""
    shown = printed(begun(), permission(pattern="date *"), status("waiting"))

    assert shown.splitlines() == [
        "? may it execute: Run date",
        "  subject: date",
        '  arguments: {"command":"date"}',
        "  1 y  Allow once",
        "  2 a  Always allow (covers date *)",
        "  3 n  Reject",
        "  type 1 2 3 y a n",
    ]


def test_what_a_call_would_do_is_shown_letter_by_letter() -> None:
    """What is shown must be what runs: nothing may reorder it, hide it or go back over it."""
    subject = "rm -rf x\r\x1b[2K\u202eecho\u200b hello"

    shown = printed(begun(), permission(subject=subject), status("waiting"))

    assert "subject: rm -rf x\\x0d\\x1b[2K\\u202eecho\\u200b hello" in shown


def test_a_call_that_is_too_long_says_how_much_is_missing() -> None:
    """What is not on the screen is not approved unseen."""
    view = begun()

    shown = printed(view, permission(subject="x" * 10_000), status("waiting"))
    view.show_ask()
    whole = "".join(span.text for span in view.tear_off())

    assert "4000 more characters; /show prints them" in shown
    assert "x" * 10_000 in whole


@pytest.mark.parametrize(
    ("line", "option_id"),
    [
        ("1", "allow"),
        (" 3 ", "reject"),
        ("y", "allow"),
        ("Y", "allow"),
        ("yes", "allow"),
        ("a", "always"),
        ("no", "reject"),
        ("reject", "reject"),
        ("Allow once", "allow"),
    ],
)
def test_an_option_is_chosen_by_number_letter_or_name(line: str, option_id: str) -> None:
    """The answer carries the digest of the call that was shown."""
    reply = answer(asked(permission()), line)

    assert reply == PermissionReply(ask_id="per_1", option_id=option_id, digest="d1")


@pytest.mark.parametrize("line", ["0", "4", "x", "yess", "-1", "²", "99999999999999999999", "1 2"])
def test_what_is_no_option_answers_nothing(line: str) -> None:
    """A slip of the finger allows nothing, and the question stays."""
    view = asked(permission())

    assert isinstance(answer(view, line), Unclear)
    assert view.asks.focus is not None


def test_a_line_begun_before_the_question_came_does_not_answer_it() -> None:
    """The focus of a line is what was on the screen when its first letter was typed."""
    view = asked(permission())
    before = view.asks.focus
    assert before is not None
    printed(view, event("ask-expired", ask_id="per_1", reason="withdrawn"))
    printed(view, permission("per_2"), status("waiting"))

    assert isinstance(view.asks.answer("y", before), Unclear)


def test_a_call_that_changes_is_shown_again_and_an_old_answer_is_refused() -> None:
    """What was approved is one call, not what has become of it."""
    view = asked(permission())
    before = view.asks.focus
    assert before is not None
    changed = {**CALL, "arguments": '{"command":"rm"}'}

    shown = printed(view, permission(digest="d2", tool_call=changed), status("waiting"))

    assert '{"command":"rm"}' in shown
    assert isinstance(view.asks.answer("y", before), Unclear)
    assert answer(view, "y").digest == "d2"


def test_somebody_elses_answer_is_shown_and_the_question_goes_away() -> None:
    """The first answer holds, and everybody sees it."""
    view = asked(permission())
    body = {"option_id": "allow", "outcome": "allow", "by": "person"}

    shown = printed(view, event("permission-answered", ask_id="per_1", **body))

    assert shown == "- answered: Allow once (by a person)\n"
    assert view.asks.focus is None


def test_an_ask_that_expires_goes_away_with_its_reason() -> None:
    """Nobody waits for the answer any more."""
    view = asked(permission())

    shown = printed(view, event("ask-expired", ask_id="per_1", reason="interrupted"))

    assert shown == "- no answer is wanted any more, it was interrupted\n"
    assert view.asks.focus is None


def test_what_a_rule_has_answered_is_not_asked() -> None:
    """An ask and its answer by a rule come together, and concern nobody."""
    view = begun()
    body = {"option_id": "allow", "outcome": "allow", "by": "rule"}

    assert printed(view, permission(), event("permission-answered", ask_id="per_1", **body)) == ""


def test_what_a_rule_has_refused_is_told() -> None:
    """Otherwise nobody knows why a tool fails."""
    view = begun()
    body = {"option_id": "reject", "outcome": "reject", "by": "rule"}

    shown = printed(view, permission(), event("permission-answered", ask_id="per_1", **body))

    assert shown == "- refused (by a rule): Run date\n"


def test_asks_that_were_open_already_are_shown_once() -> None:
    """Whoever comes to a session that waits is asked at once, and not again after each gap."""
    view = ChatView()
    view.begin(session(), (), ())
    told: dict[str, Any] = {"id": "per_1", "kind": "permission", "session_id": CHAT}
    told |= {"digest": "d1"}
    told |= {"tool_kind": "execute", "tool_call": CALL, "options": OPTIONS}

    assert "? may it execute: Run date" in printed(view, live(word="waiting", asks=[told]))
    assert printed(view, live(word="waiting", asks=[told])) == ""
    assert printed(view, live()) == ""
    assert view.asks.focus is None


def test_a_question_is_answered_by_number_or_in_own_words() -> None:
    """Choices are offered, and nobody is bound to them."""
    told = {"text": "Which?", "choices": [{"label": "red"}, {"label": "blue", "description": "b"}]}
    shown = printed(begun(), question(told), status("waiting"))

    assert shown.splitlines() == [
        "? Which?",
        "  1  red",
        "  2  blue - b",
        "  type 1 2 or your own words",
    ]
    assert answer(asked(question(told)), "2") == QuestionReply(ask_id="que_1", answers=(("blue",),))
    assert answer(asked(question(told)), "3") == QuestionReply(ask_id="que_1", answers=(("3",),))


def test_several_choices_are_named_by_their_numbers() -> None:
    """Only where the agent takes several."""
    told = {"text": "Which?", "multiple": True, "choices": [{"label": "red"}, {"label": "blue"}]}

    assert answer(asked(question(told)), "1, 2").answers == (("red", "blue"),)
    assert answer(asked(question({**told, "multiple": False})), "1, 2").answers == (("1, 2",),)


def test_several_questions_are_asked_one_after_the_other() -> None:
    """One answer is sent, when the last of them is answered."""
    view = asked(question({"text": "Which?"}, {"header": "Size", "text": "How large?"}))

    assert answer(view, "red") is None
    view.show_new_asks()
    shown = "".join(span.text for span in view.tear_off())
    assert "? Size: How large? (2 of 2)" in shown
    assert answer(view, "two") == QuestionReply(ask_id="que_1", answers=(("red",), ("two",)))


def test_an_answer_that_did_not_arrive_is_asked_for_again() -> None:
    """The daemon went away in between, and still waits."""
    view = asked(permission())
    answer(view, "y")
    assert view.asks.focus is None

    view.asks.give_back("per_1")
    view.show_new_asks()

    assert "? may it execute" in "".join(span.text for span in view.tear_off())
    assert view.asks.focus is not None


def test_of_two_asks_the_older_one_is_answered_first() -> None:
    """Both are on the screen; one line answers one of them."""
    view = asked(permission())
    printed(view, permission("per_2"), status("waiting"))

    assert answer(view, "y").ask_id == "per_1"
    assert answer(view, "n").ask_id == "per_2"
