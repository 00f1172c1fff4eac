"""A frame of a stream on one line: when, what, and of what is in it the part that tells most."""

from collections.abc import Mapping
from typing import Any, Final

from spaced.cli.chat.queue_view import text_of
from spaced.cli.chat.spans import one_line
from spaced.client.sse import Frame

QUIET: Final = frozenset({"heartbeat"})
"""Names of frames that say only that the daemon is there."""

_SILENT: Final = frozenset({"hello", "live", "heartbeat", "agent-item-delta"})
_LONGEST: Final = 100
_WIDTH: Final = 27
_TEXTS: Final = ("title", "name", "content", "output", "error", "event")


def line_of(frame: Frame, *, is_wanted: bool, shows_session: bool) -> str | None:
    """Return a frame as a person reads it; nothing for what only programs need.

    Args:
        is_wanted: whether frames of this name were asked for.
        shows_session: whether the stream is of several sessions.
    """
    if frame.name in _SILENT and not is_wanted:
        return None
    data = frame.data
    body = data.get("body", data)
    time = str(data.get("created_at") or data.get("time") or "")[11:19]
    name = one_line(frame.name, longest=_WIDTH).ljust(_WIDTH)
    of = str(data.get("session_id") or data.get("stream") or "") if shows_session else ""
    owner = f"{one_line(of, longest=_LONGEST)} " if of else ""
    return f"{time or '        '} {owner}{name} {_told(frame.name, body)}".rstrip()


def _told(name: str, body: Mapping[str, Any]) -> str:
    match name:
        case "agent-item-appended" | "agent-item-upserted":
            return _item(body["item"])
        case "agent-item-updated":
            return _fields(body["updates"])
        case "agent-item-text-appended" | "agent-item-delta":
            return one_line(str(body.get("text")), longest=_LONGEST)
        case "prompt-admitted" | "prompt-edited" if body.get("parts"):
            return text_of(body["parts"])
        case "permission-asked":
            call = body.get("tool_call")
            title = call.get("title") if isinstance(call, Mapping) else None
            return one_line(f"{body.get('tool_kind')}: {title}", longest=_LONGEST)
        case "question-asked":
            texts = [str(q.get("text") or q.get("header")) for q in body.get("questions") or ()]
            return one_line("; ".join(texts), longest=_LONGEST)
        case "status":
            live = body.get("live") or {}
            return one_line(f"{live.get('word')} {live.get('message') or ''}", longest=_LONGEST)
    return _fields(body)


def _item(item: Mapping[str, Any]) -> str:
    who = " ".join(str(item[name]) for name in ("role", "type") if item.get(name))
    text = next((str(item[name]) for name in _TEXTS if item.get(name)), "")
    return one_line(f"{who}: {text}" if text else who, longest=_LONGEST)


def _fields(body: Mapping[str, Any]) -> str:
    plain = (str, int, float, bool)
    told = [f"{name}={value}" for name, value in body.items() if isinstance(value, plain)]
    return one_line(" ".join(told), longest=_LONGEST)
