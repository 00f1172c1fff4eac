"""The fold of one ask: a permission or a question, until it is answered or expired."""

from dataclasses import dataclass, replace
from typing import Literal

from spaced.domain.events.ask import (
    AskExpired,
    PermissionAnswered,
    PermissionAsked,
    QuestionAnswered,
    QuestionAsked,
)
from spaced.domain.events.event import Event
from spaced.domain.json_values import JsonObject

AskKind = Literal["permission", "question"]
AskStatus = Literal["open", "answered", "expired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """What an agent wants to be allowed; the attributes of `permission-asked`."""

    tool_kind: str
    tool_call: JsonObject
    options: tuple[JsonObject, ...]
    digest: str
    subject: str = ""
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The first answer to an ask, which every later one is told.

    Attributes:
        option_id: of a permission, with `outcome` `allow` or `reject`, `by` whom, and `grant_id`.
        answers: of a question, one list for each of its questions.
        prompt_id: the prompt that carries it, if the asking turn had ended.
    """

    option_id: str | None = None
    outcome: str | None = None
    by: str | None = None
    grant_id: str | None = None
    message: str | None = None
    answers: tuple[tuple[str, ...], ...] = ()
    prompt_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """An ask as its run's stream leaves it.

    Attributes:
        source: `{execution_id, id}`, the runtime's own name for it.
        asked_at: milliseconds since the epoch.
    """

    id: str
    kind: AskKind
    session_id: str
    asked_at: int
    status: AskStatus = "open"
    turn_id: str | None = None
    item_id: str | None = None
    source: JsonObject | None = None
    permission: Permission | None = None
    questions: tuple[JsonObject, ...] = ()
    answer: Answer | None = None
    expired_because: str | None = None


def open_ask(event: PermissionAsked | QuestionAsked, *, session_id: str, created_at: int) -> Ask:
    """Return the ask that an event opens, or opens again."""
    if isinstance(event, QuestionAsked):
        return Ask(
            id=event.ask_id,
            kind="question",
            session_id=session_id,
            asked_at=created_at,
            turn_id=event.turn_id,
            source=event.source,
            questions=event.questions,
        )
    return Ask(
        id=event.ask_id,
        kind="permission",
        session_id=session_id,
        asked_at=created_at,
        turn_id=event.turn_id,
        item_id=event.item_id,
        source=event.source,
        permission=Permission(
            tool_kind=event.tool_kind,
            tool_call=event.tool_call,
            options=event.options,
            digest=event.digest,
            subject=event.subject or "",
            pattern=event.pattern,
        ),
    )


def apply_to_ask(ask: Ask, event: Event) -> Ask:
    """Return the ask after an event that names it; one that is closed never changes."""
    if ask.status != "open":
        return ask
    match event:
        case PermissionAnswered():
            answer = Answer(
                option_id=event.option_id,
                outcome=event.outcome,
                by=event.by,
                grant_id=event.grant_id,
                message=event.message,
            )
            return replace(ask, status="answered", answer=answer)
        case QuestionAnswered():
            answer = Answer(answers=event.answers, prompt_id=event.prompt_id)
            return replace(ask, status="answered", answer=answer)
        case AskExpired(reason=reason):
            return replace(ask, status="expired", expired_because=reason)
        case _:
            return ask
