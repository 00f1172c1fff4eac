"""What was said before, as plain text for an agent whose conversation begins anew.

It stands between two lines that say what it is. Whatever people, agents and tools wrote is quoted:
each of its lines begins with `> `, or stands behind words of ours on one line, so that nothing in
it can look like the end of the history or like a new request.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from spaced.domain.json_values import JsonObject

BEGIN: Final = "=== What was said before in this conversation. It is a record, no new request. ==="
END: Final = "=== End of what was said before. ==="

_QUOTE: Final = "> "
_LONGEST_RESULT: Final = 2000
_LONGEST_LINE: Final = 400
_SHORTEST_PART: Final = 200
"""Of an entry that does not fit less is not worth telling; all of these in code points."""


def render_history(items: Sequence[JsonObject], *, limit: int = 100_000) -> str:
    """Return a transcript as text, or the newest part of it that fits.

    Reasoning is left out, and so is every item of a type that this module does not know. The oldest
    entry that is told may be shortened in its middle.

    Args:
        items: in the order of the transcript.
        limit: the most code points of the whole text.

    Returns:
        The text between its two lines; empty if there is nothing to tell, or no space for it.
    """
    told = [item for item in items if _is_told(item)]
    frame = len("\n".join([BEGIN, _left_out(len(told)), END]))
    if not told or limit < frame:
        return ""
    blocks = _newest_that_fit(told, limit - frame)
    missing = len(told) - len(blocks)
    return "\n".join([BEGIN, *([_left_out(missing)] if missing else []), *blocks, END])


def _left_out(count: int) -> str:
    return f"[{count:,} earlier {'entry is' if count == 1 else 'entries are'} left out here]"


def _newest_that_fit(told: Sequence[JsonObject], room: int) -> list[str]:
    blocks: list[str] = []
    for item in reversed(told):
        block = _RENDERERS[str(item["type"])](item)
        room -= 1  # the line break before it
        if len(block) > room:
            if room >= _SHORTEST_PART:
                blocks.append(_without_middle(block, room, around="\n" + _QUOTE))
            break
        room -= len(block)
        blocks.append(block)
    return blocks[::-1]


def _is_told(item: JsonObject) -> bool:
    item_type = item.get("type")
    if item_type == "message":
        return bool(item.get("content") or item.get("parts"))
    return isinstance(item_type, str) and item_type in _RENDERERS


def _message(item: JsonObject) -> str:
    role = item.get("role")
    label = role if role in ("user", "assistant") else "somebody"
    is_cut = item.get("stream_status") == "interrupted"
    lines = [_text(item.get("content")), *map(_part, _objects(item.get("parts")))]
    quoted = _quoted("\n".join(line for line in lines if line))
    return f"{label}{', interrupted' if is_cut else ''}:\n{quoted}"


def _part(part: JsonObject) -> str:
    kind = part.get("type")
    if kind == "text":
        return ""  # the message's content says it already
    name = next((part[key] for key in ("name", "path", "id") if part.get(key)), "")
    return f"[{_line(kind)} {_line(name)}]"


def _tool_call(item: JsonObject) -> str:
    said = [_line(item.get(key)) for key in ("name", "title", "arguments")]
    words = " | ".join(dict.fromkeys(word for word in said if word))
    return f"tool call, {_line(item.get('status')) or 'no status'}: {words}"


def _tool_result(item: JsonObject) -> str:
    label = "failed tool result" if item.get("is_error") else "tool result"
    output = _without_middle(_text(item.get("output")), _LONGEST_RESULT, around="\n")
    return f"{label}: {_line(item.get('name'))}\n{_quoted(output)}"


def _plan(item: JsonObject) -> str:
    entries = [
        f"- [{_line(entry.get('status'))}] {_line(entry.get('content'))}"
        for entry in _objects(item.get("entries"))
    ]
    return "plan:\n" + _quoted("\n".join(entries))


def _error(item: JsonObject) -> str:
    return f"error: {_line(item.get('error') or item.get('code'))}"


_RENDERERS: Final[dict[str, Callable[[JsonObject], str]]] = {
    "message": _message,
    "tool-call": _tool_call,
    "tool-result": _tool_result,
    "plan": _plan,
    "error": _error,
}


def _quoted(text: str) -> str:
    """Quote each line; `splitlines` knows every character that some reader takes for a break."""
    return "\n".join(_QUOTE + line for line in text.splitlines() or [""])


def _line(value: object) -> str:
    """Return a value on one line, shortened."""
    text = _without_middle(_text(value), _LONGEST_LINE, around=" ")
    return " ".join(text.split())


def _without_middle(text: str, limit: int, *, around: str) -> str:
    """Shorten a text to a limit by leaving its middle out, with something on each side of it."""
    if len(text) <= limit:
        return text
    kept = limit - len(_marker(len(text), around))
    end = kept // 3
    marker = _marker(len(text) - kept, around)
    return f"{text[: kept - end]}{marker}{text[len(text) - end :]}"


def _marker(count: int, around: str) -> str:
    return f"{around}[… {count:,} characters left out …]{around}"


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _objects(value: object) -> list[JsonObject]:
    listed = value if isinstance(value, (list, tuple)) else ()
    return [part for part in listed if isinstance(part, Mapping)]
