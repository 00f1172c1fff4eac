"""Prompts, turns, asks and executions to decide about."""

from typing import Any, Final

from spaced.domain.ask import Ask, Permission
from spaced.domain.events.prompt import PromptAdmitted
from spaced.domain.execution import Execution
from spaced.domain.json_values import JsonObject
from spaced.domain.prompt import AdmittedPrompt, admit_prompt
from spaced.domain.session import Session
from spaced.domain.turn import RecordedTurn

ADDRESS: Final[JsonObject] = {"kind": "session", "id": "ses"}


def parts_of(text: str) -> tuple[JsonObject, ...]:
    """Return the parts of a prompt of plain text."""
    return ({"type": "text", "text": text},)


def admitted(prompt_id: str = "msg", **fields: Any) -> PromptAdmitted:
    """Return the event that admits a prompt of a person."""
    given: dict[str, Any] = {
        "parts": parts_of(f"text of {prompt_id}"),
        "delivery": "queue",
        "address": ADDRESS,
        "origin": "person",
        "held": False,
        "rank": 10,
        "queue_index": 0,
    }
    return PromptAdmitted(prompt_id=prompt_id, **(given | fields))


def prompt(prompt_id: str = "msg", *, version: int = 3, **fields: Any) -> AdmittedPrompt:
    """Return a pending prompt."""
    return admit_prompt(admitted(prompt_id, **fields), session_id="ses", version=version)


def turn(**fields: Any) -> RecordedTurn:
    """Return an open turn of which nothing was handed over."""
    given: dict[str, Any] = {"prompt_ids": ("msg",), "started_version": 4, "started_at": 10}
    return RecordedTurn(id="turn", session_id="ses", **(given | fields))


def question(ask_id: str = "que", **fields: Any) -> Ask:
    """Return an open question of the turn."""
    given: dict[str, Any] = {"turn_id": "turn", "questions": ({"text": "Which?"},)}
    return Ask(id=ask_id, kind="question", session_id="ses", asked_at=10, **(given | fields))


def permission(ask_id: str = "per", **fields: Any) -> Ask:
    """Return an open permission of the turn."""
    wanted = Permission(tool_kind="edit", tool_call={"name": "write"}, options=(), digest="d")
    given: dict[str, Any] = {"turn_id": "turn", "permission": wanted}
    return Ask(id=ask_id, kind="permission", session_id="ses", asked_at=10, **(given | fields))


def execution(execution_id: str = "exe") -> Execution:
    """Return an open execution."""
    return Execution(id=execution_id, session_id="ses", runtime="scripted", generation=1)


def session(**fields: Any) -> Session:
    """Return a session that is running."""
    given: dict[str, Any] = {"agent_id": "prof", "status": "running", "created_at": 5}
    return Session(id="ses", run_id="ses", **(given | fields))
