"""JSON-RPC messages, one for each line: reading what an agent wrote, and writing what it reads.

Only an object that could be a message is taken for one. Everything else that agents print between
messages, such as log lines and banners, is junk to be counted.
"""

import json
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from spaced.plugin_api import JsonObject

MessageId: TypeAlias = int | str

METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
AUTH_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002
REQUEST_CANCELLED: Final = -32800


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Something that the agent wants an answer to."""

    id: MessageId
    method: str
    params: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """Something that the agent tells."""

    method: str
    params: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorAnswer:
    """What an agent answers when it cannot do what it was asked.

    Attributes:
        code: a number that means little by itself: agents use the same one for many things.
    """

    code: int
    message: str
    data: object = None

    @property
    def text(self) -> str:
        """Everything that it says, for a person and for a look into it."""
        return f"{self.message} {_words_of(self.data)}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The agent's answer to a request of ours: a result or an error."""

    id: MessageId
    result: JsonObject
    error: ErrorAnswer | None = None


Message: TypeAlias = Request | Notification | Answer


def read_message(line: bytes) -> Message | None:
    """Return the message in a line; `None` if it is junk."""
    try:
        # Not a faster parser: agents cut texts between the halves of a character, and the others
        # refuse a whole message for that.
        value = json.loads(line.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return _message(value)


def write_request(message_id: MessageId, method: str, params: JsonObject) -> bytes:
    """Return the line of a request."""
    return _line({"id": message_id, "method": method, "params": params})


def write_notification(method: str, params: JsonObject) -> bytes:
    """Return the line of a notification."""
    return _line({"method": method, "params": params})


def write_result(message_id: MessageId, result: JsonObject) -> bytes:
    """Return the line that answers a request of the agent."""
    return _line({"id": message_id, "result": result})


def write_error(message_id: MessageId, code: int, message: str) -> bytes:
    """Return the line that refuses a request of the agent."""
    return _line({"id": message_id, "error": {"code": code, "message": message}})


def _message(value: dict[str, Any]) -> Message | None:
    method, message_id = value.get("method"), value.get("id")
    if isinstance(message_id, bool) or not isinstance(message_id, int | str):
        message_id = None
    if isinstance(method, str):
        params = _object(value.get("params"))
        if message_id is not None:
            return Request(id=message_id, method=method, params=params)
        return Notification(method=method, params=params)
    if message_id is not None and ("result" in value or "error" in value):
        error = value.get("error")
        return Answer(
            id=message_id,
            result=_object(value.get("result")),
            error=None if error is None else _error(error),
        )
    return None


def _error(error: object) -> ErrorAnswer:
    if not isinstance(error, dict):
        return ErrorAnswer(code=INTERNAL_ERROR, message=str(error))
    code = error.get("code")
    return ErrorAnswer(
        code=code if isinstance(code, int) else INTERNAL_ERROR,
        message=str(error.get("message") or "no reason given"),
        data=error.get("data"),
    )


def _words_of(data: object) -> str:
    if data is None:
        return ""
    if isinstance(data, dict):
        told = data.get("message") or data.get("details") or data.get("detail")
        if isinstance(told, str):
            return told
    return data if isinstance(data, str) else json.dumps(data)


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _line(message: JsonObject) -> bytes:
    # ASCII alone: nothing in it can be taken for the end of a line by whoever reads it.
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
