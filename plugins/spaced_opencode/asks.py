"""What a session's agent, or one that it has started, waits for: permissions and questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from spaced.plugin_api import (
    AskAnswer,
    JsonObject,
    PermissionAnswer,
    PermissionWanted,
    QuestionAnswer,
    QuestionWanted,
)
from spaced_opencode.server_api import ServerApi
from spaced_opencode.tool_parts import ToolPart, as_json, described, kind_of

Wanted: TypeAlias = PermissionWanted | QuestionWanted

_OPTIONS: Final = (
    {"option_id": "once", "name": "Allow once", "kind": "allow_once"},
    {"option_id": "always", "name": "Always allow", "kind": "allow_always"},
    {"option_id": "reject", "name": "Reject", "kind": "reject_once"},
)


@dataclass(frozen=True, slots=True)
class UnsentAnswer:
    """An answer that was given while the server could not be reached."""

    ask_id: str
    answer: AskAnswer


class Asks:
    """Which asks are open; each takes one answer."""

    def __init__(self) -> None:
        self._open: dict[str, Wanted] = {}
        self._closed: set[str] = set()
        self.unsent: list[UnsentAnswer] = []

    def open(self, wanted: Wanted) -> bool:
        """Note an ask; false: it is known already, or has been answered."""
        if wanted.ask_id in self._open or wanted.ask_id in self._closed:
            return False
        self._open[wanted.ask_id] = wanted
        return True

    def accepts(self, ask_id: str, answer: AskAnswer) -> bool:
        """Tell whether an answer fits an open ask; if so, it is open no more."""
        wanted = self._open.get(ask_id)
        if isinstance(wanted, PermissionWanted) != isinstance(answer, PermissionAnswer):
            return False
        return self.close(ask_id)

    def close(self, ask_id: str) -> bool:
        """Note that nobody waits for an answer; false: nobody did."""
        if self._open.pop(ask_id, None) is None:
            return False
        self._closed.add(ask_id)
        return True

    def close_all(self) -> list[str]:
        """Close every ask and return their names."""
        names = list(self._open)
        self._closed.update(names)
        self._open.clear()
        self.unsent.clear()
        return names

    def close_others(self, waiting: Sequence[Wanted]) -> list[str]:
        """Close those that the server does not wait for any more, and return their names."""
        names = {wanted.ask_id for wanted in waiting}
        return [ask_id for ask_id in list(self._open) if ask_id not in names and self.close(ask_id)]


async def send_answer(api: ServerApi, ask_id: str, answer: AskAnswer) -> None:
    """Pass an answer on.

    Raises:
        RuntimeProblem: the server cannot be reached, or does not wait for it.
    """
    match answer:
        case PermissionAnswer():
            # Never "always": what holds for longer is kept and shown by the daemon.
            reply = "once" if answer.is_allowed else "reject"
            message = None if answer.is_allowed else answer.message
            await api.answer_permission(ask_id, reply, message)
        case QuestionAnswer():
            await api.answer_question(ask_id, answer.answers)


def read_permission(
    facts: Mapping[str, Any], call: ToolPart | None, turn_id: str | None, own_session: str
) -> PermissionWanted | None:
    """Read what the server says about a permission; `None`: it has no name.

    Args:
        call: the tool call that it is for, if that is known.
        own_session: the session; an ask of another one is that of an agent that it has started.
    """
    ask_id, name = facts.get("id"), str(facts.get("permission"))
    if not isinstance(ask_id, str):
        return None
    metadata = facts.get("metadata")
    told = metadata if isinstance(metadata, dict) else {}
    arguments = call.arguments if call is not None and call.arguments else told
    patterns = _texts(facts.get("patterns"))
    always = _texts(facts.get("always"))
    tool_call: dict[str, object] = {
        "name": name if call is None else call.name,
        "title": described(patterns[0] if patterns else name, arguments),
        "arguments": as_json(arguments or {"patterns": patterns}),
    }
    if facts.get("sessionID") != own_session:
        tool_call["conversation"] = str(facts.get("sessionID"))
    command = told.get("command")
    return PermissionWanted(
        ask_id=ask_id,
        tool_kind=kind_of(name),
        tool_call=tool_call,
        options=_OPTIONS,
        subject=command if isinstance(command, str) else " ".join(patterns),
        pattern=always[0] if len(always) == 1 else None,
        source=None if call is None else call.id,
        turn_id=turn_id,
    )


def read_question(facts: Mapping[str, Any], turn_id: str | None) -> QuestionWanted | None:
    """Read what the server says about a question; `None`: it has no name or asks nothing."""
    ask_id, asked = facts.get("id"), facts.get("questions")
    questions = tuple(
        _question(one)
        for one in (asked if isinstance(asked, list) else ())
        if isinstance(one, dict)
    )
    if not isinstance(ask_id, str) or not questions:
        return None
    return QuestionWanted(ask_id=ask_id, questions=questions, turn_id=turn_id)


def _question(told: Mapping[str, Any]) -> JsonObject:
    question: dict[str, object] = {"text": str(told.get("question", ""))}
    if isinstance(told.get("header"), str) and told["header"]:
        question["header"] = told["header"]
    options = told.get("options")
    choices = [
        {name: one[name] for name in ("label", "description") if isinstance(one.get(name), str)}
        for one in (options if isinstance(options, list) else ())
        if isinstance(one, dict) and isinstance(one.get("label"), str)
    ]
    if choices:
        question["choices"] = choices
    if told.get("multiple") is True:
        question["multiple"] = True
    return question


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
