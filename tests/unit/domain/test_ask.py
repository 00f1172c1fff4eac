"""The fold of an ask: what it holds, and that it closes once."""

from dataclasses import replace

import pytest

from spaced.domain.ask import Answer, Ask, Permission, apply_to_ask, open_ask
from spaced.domain.events.ask import (
    AskExpired,
    PermissionAnswered,
    PermissionAsked,
    QuestionAnswered,
    QuestionAsked,
)
from spaced.domain.events.event import Event
from spaced.domain.events.prompt import QueuePaused

SOURCE = {"execution_id": "exe", "id": "7"}
WANTED = PermissionAsked(
    ask_id="per",
    tool_kind="edit",
    tool_call={"name": "write"},
    options=({"option_id": "o"},),
    digest="d",
    turn_id="turn",
    item_id="itm",
    subject="a.txt",
    pattern="*.txt",
    source=SOURCE,
)
QUESTION = QuestionAsked(
    ask_id="que", questions=({"text": "Which?"},), turn_id="turn", source=SOURCE
)
ALLOWED = PermissionAnswered(
    ask_id="per", option_id="o", outcome="allow", by="person", grant_id="grt", message="fine"
)
ANSWERED = QuestionAnswered(ask_id="que", answers=(("a", "b"), ()), prompt_id="msg")
EXPIRED = AskExpired(ask_id="per", reason="withdrawn")


def _open(event: PermissionAsked | QuestionAsked) -> Ask:
    return open_ask(event, session_id="ses", created_at=10)


def test_a_permission_opens_with_all_that_a_person_has_to_see() -> None:
    """And with the runtime's own name for it."""
    assert _open(WANTED) == Ask(
        id="per",
        kind="permission",
        session_id="ses",
        asked_at=10,
        turn_id="turn",
        item_id="itm",
        source=SOURCE,
        permission=Permission(
            tool_kind="edit",
            tool_call={"name": "write"},
            options=({"option_id": "o"},),
            digest="d",
            subject="a.txt",
            pattern="*.txt",
        ),
    )


def test_a_permission_without_a_subject_has_an_empty_one() -> None:
    """Patterns are compared with a text in any case."""
    permission = _open(replace(WANTED, subject=None)).permission

    assert permission is not None
    assert permission.subject == ""


def test_a_question_opens_with_its_questions() -> None:
    """It is about no item and no tool."""
    assert _open(QUESTION) == Ask(
        id="que",
        kind="question",
        session_id="ses",
        asked_at=10,
        turn_id="turn",
        source=SOURCE,
        questions=({"text": "Which?"},),
    )


def test_an_answered_permission_keeps_its_answer() -> None:
    """Whoever answers later is told this one."""
    answer = Answer(option_id="o", outcome="allow", by="person", grant_id="grt", message="fine")

    assert apply_to_ask(_open(WANTED), ALLOWED) == replace(
        _open(WANTED), status="answered", answer=answer
    )


def test_an_answered_question_keeps_its_answers_and_the_prompt_that_carries_them() -> None:
    """One list for each of its questions."""
    answer = Answer(answers=(("a", "b"), ()), prompt_id="msg")

    assert apply_to_ask(_open(QUESTION), ANSWERED) == replace(
        _open(QUESTION), status="answered", answer=answer
    )


def test_an_expired_ask_says_why() -> None:
    """It has no answer."""
    assert apply_to_ask(_open(WANTED), EXPIRED) == replace(
        _open(WANTED), status="expired", expired_because="withdrawn"
    )


@pytest.mark.parametrize("end", [ALLOWED, ANSWERED, EXPIRED], ids=lambda event: event.kind)
def test_a_closed_ask_never_changes(end: Event) -> None:
    """The first answer wins."""
    closed = apply_to_ask(_open(WANTED), end)

    for late in (replace(ALLOWED, outcome="reject"), ANSWERED, EXPIRED):
        assert apply_to_ask(closed, late) is closed


def test_other_events_are_not_about_an_ask() -> None:
    """They return the ask itself."""
    ask = _open(WANTED)

    assert apply_to_ask(ask, QueuePaused(reason="person")) is ask
