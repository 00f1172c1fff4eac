"""Items: the entries of a transcript, as the JSON objects that clients see.

An item keeps what its producer gave it, so it stays an open object; this module says which types
and fields spaced itself writes and reads. `docs/events.md` shows the table below.
"""

from typing import Final, Literal, get_args

from spaced.domain.json_values import JsonObject
from spaced.errors import CorruptStream

ItemType = Literal["message", "reasoning", "tool-call", "tool-result", "plan", "event", "error"]
ITEM_TYPES: Final[tuple[ItemType, ...]] = get_args(ItemType)

COMMON_FIELDS: Final = {
    "id": "our id, unique in the session",
    "type": "one of the types below; clients skip types that they do not know",
    "created_at": "RFC 3339 time",
    "updated_at": "RFC 3339 time of the last change",
    "turn_id": "the turn that made it, where there was one",
    "round": "the number of the model call inside the turn, where the runtime tells",
    "source": "{generation, id} where a provider named it",
    "parent_id": "the item that it belongs to",
    "late": "true for output that came after its turn had ended",
    "background": "true for output that came without any turn",
    "replaced": "how many halves of characters could not be stored and became U+FFFD",
}
"""Fields that any item may have."""

TYPE_FIELDS: Final[dict[ItemType, dict[str, str]]] = {
    "message": {
        "role": "user or assistant",
        "content": "text, may be empty",
        "parts": "files and mentions of a user's prompt",
        "prompt_id": "the prompt that a user's message shows",
        "stream_status": "streaming, complete or interrupted",
        "model": "the model that answered",
        "usage": "tokens and cost",
    },
    "reasoning": {"content": "text", "stream_status": "as for messages"},
    "tool-call": {
        "call_id": "pairs it with its result",
        "name": "the tool",
        "title": "what a person is shown",
        "kind": "what kind of tool it is",
        "arguments": "JSON text",
        "status": "pending, running, completed, failed or interrupted",
        "locations": "files that it touches",
    },
    "tool-result": {
        "call_id": "the call that it answers",
        "name": "the tool",
        "output": "text, capped",
        "is_error": "whether the tool failed",
        "stream_status": "as for messages, while more output is to come",
        "full_length": "code points of the whole output, if it was capped",
        "digest": "SHA-256 of the whole output, if it was capped",
        "blob": "the id of the whole output, if it was kept",
    },
    "plan": {"entries": "{content, priority, status} each"},
    "event": {"event": "what happened, such as compaction", "details": "an object"},
    "error": {"error": "one sentence", "code": "stable name of the failure"},
}
"""Fields of each type, beyond the common ones."""

INTERRUPTED_RESULT: Final = "interrupted before it had a result"

_OPEN_WORDS: Final = {"stream_status": ("streaming",), "status": ("pending", "running")}
_SEARCHED_LENGTH: Final = 256 * 1024
_SEARCHED_FIELDS: Final = ("content", "title", "output", "arguments", "error", "event")


def item_id_of(item: JsonObject) -> str:
    """Return an item's id.

    Raises:
        CorruptStream: it has no string under `id`.
    """
    item_id = item.get("id")
    if not isinstance(item_id, str):
        raise CorruptStream(f"an item has no string id but {item_id!r}")
    return item_id


def is_open(item: JsonObject) -> bool:
    """Whether more of the item is to come."""
    return any(item.get(name) in words for name, words in _OPEN_WORDS.items())


def searched_text(item: JsonObject) -> str:
    """Return the text under which an item is found by search: the first 256 Ki code points.

    Without a bound an item of many megabytes could not be completed, since the text to index
    counts towards the size of the append.
    """
    texts = (item.get(name) for name in _SEARCHED_FIELDS)
    return "\n".join(text for text in texts if isinstance(text, str) and text)[:_SEARCHED_LENGTH]


def closing_fields(item: JsonObject, *, is_completed: bool) -> JsonObject:
    """Return the fields that say how an open item ended: each one that says that it is open."""
    words = {"stream_status": "complete", "status": "completed"}
    return {
        name: words[name] if is_completed else "interrupted"
        for name, open_words in _OPEN_WORDS.items()
        if item.get(name) in open_words
    }


def event_item(
    item_id: str,
    event: str,
    details: JsonObject,
    created_at: str,
    *,
    turn_id: str | None = None,
) -> dict[str, object]:
    """Return an item that says what happened, such as a compaction."""
    item: dict[str, object] = {
        "id": item_id,
        "type": "event",
        "event": event,
        "details": details,
        "created_at": created_at,
    }
    return item if turn_id is None else {**item, "turn_id": turn_id}


def interrupted_result(call: JsonObject, created_at: str) -> dict[str, object]:
    """Return the result of a tool call that will never have one of its own, without an id.

    Args:
        created_at: when that is known, as an RFC 3339 time.
    """
    fields: dict[str, object] = {
        "type": "tool-result",
        "call_id": call.get("call_id"),
        "output": INTERRUPTED_RESULT,
        "is_error": True,
        "created_at": created_at,
    }
    kept = {name: call[name] for name in ("name", "turn_id") if isinstance(call.get(name), str)}
    return {**fields, **kept}
