"""Asks: what an agent wants to know or to be allowed, recorded even if nobody looks."""

from spaced.domain.events.event import SessionEvent, event
from spaced.domain.json_values import JsonObject


@event("permission-asked")
class PermissionAsked(SessionEvent):
    """An agent wants to be allowed something.

    Attributes:
        tool_kind: what kind of tool wants to run, such as `edit` or `execute`.
        tool_call: the call as the agent described it, for display.
        options: what can be answered: `{option_id, name, kind}` each.
        digest: of the exact arguments; an answer may carry it.
        item_id: the transcript item of the tool call, where there is one.
        subject: what a rule's pattern is compared with, such as a command line or a path.
        pattern: what a standing permission would cover, if the agent offers one.
        source: `{execution_id, id}`, the runtime's own name for the ask.

    The same ask asked again is reopened: the call has changed, and so has its digest.
    """

    ask_id: str
    tool_kind: str
    tool_call: JsonObject
    options: tuple[JsonObject, ...]
    digest: str
    turn_id: str | None = None
    item_id: str | None = None
    subject: str | None = None
    pattern: str | None = None
    source: JsonObject | None = None


@event("permission-answered")
class PermissionAnswered(SessionEvent):
    """Somebody, or a rule, answered; later answers are refused with this one.

    Attributes:
        option_id: the chosen option.
        outcome: what the choice means: `allow` or `reject`.
        by: `person`, `rule`, `grant` or `headless`.
        grant_id: the grant that was made by this answer or that gave it.
    """

    ask_id: str
    option_id: str
    outcome: str
    by: str
    grant_id: str | None = None
    message: str | None = None


@event("question-asked")
class QuestionAsked(SessionEvent):
    """An agent asks a question.

    Attributes:
        questions: text, header and choices of each question.
        source: as for `permission-asked`.
    """

    ask_id: str
    questions: tuple[JsonObject, ...]
    turn_id: str | None = None
    source: JsonObject | None = None


@event("question-answered")
class QuestionAnswered(SessionEvent):
    """Somebody answered a question.

    Attributes:
        answers: the chosen labels or texts, one list for each question.
        prompt_id: the prompt that carries the answer, if the asking turn had ended.
    """

    ask_id: str
    answers: tuple[tuple[str, ...], ...]
    prompt_id: str | None = None


@event("ask-expired")
class AskExpired(SessionEvent):
    """An ask closed without an answer.

    Attributes:
        reason: a stable code, such as `turn-ended`, `interrupted`, `withdrawn` or `restart`.
    """

    ask_id: str
    reason: str
