"""Renders one item of a transcript as Markdown; whatever it holds stays in its place."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from spaced.clock import from_rfc3339, to_rfc3339
from spaced.domain.json_values import JsonObject
from spaced.engine.exports.markdown_text import fenced, inline, quoted
from spaced.errors import InvalidTimestamp

_LONGEST_OUTPUT: Final = 8000
_LONGEST_LINE: Final = 400
"""Of what is no prose, in code points; the JSON export has all of it."""
_MARKS: Final = ("late", "background")


def render_item(item: JsonObject) -> str:
    """Return an item; one of a type that is not known is shown as it is stored."""
    item_type = item.get("type")
    render = _RENDERERS.get(item_type) if isinstance(item_type, str) else None
    return (render or _unknown)(item)


def moment(time: object) -> str:
    """Return an RFC 3339 time as a person reads it, in UTC; nothing for whatever is none."""
    try:
        read = from_rfc3339(time) if isinstance(time, str) else None
    except InvalidTimestamp:
        read = None
    return "" if read is None else to_rfc3339(read)[:19].replace("T", " ")


def attachments(parts: object) -> str:
    """Return a list of what a message has beside its text."""
    found = parts if isinstance(parts, (list, tuple)) else ()
    return "\n".join(
        _attachment(part)
        for part in found
        if isinstance(part, Mapping) and part.get("type") != "text"
    )


def _attachment(part: JsonObject) -> str:
    where = next((part[key] for key in ("path", "blob") if part.get(key)), None)
    return "- " + _joined(part.get("type"), part.get("name"), part.get("mime"), where)


def _message(item: JsonObject) -> str:
    role = item.get("role")
    who = {"user": "User", "assistant": "Assistant"}.get(role) if isinstance(role, str) else None
    heading = f"### {_joined(who or role or 'Somebody', item.get('model'), *_circumstances(item))}"
    content = _text(item.get("content"))
    return _blocks(heading, quoted(content) if content else "", attachments(item.get("parts")))


def _reasoning(item: JsonObject) -> str:
    summary = f"<summary>{_joined('Reasoning', *_circumstances(item))}</summary>"
    # The empty lines let what stands between the tags be Markdown again.
    return _blocks(f"<details>\n{summary}", quoted(_text(item.get("content"))), "</details>")


def _tool_call(item: JsonObject) -> str:
    said = (item.get("title") or item.get("name"), item.get("kind"), item.get("status"))
    heading = _joined(f"**Tool call** {_line(said[0])}", *said[1:], *_circumstances(item), raw=1)
    arguments = _text(item.get("arguments"))
    return _blocks(
        heading, "" if arguments in ("", "{}") else _shortened(_pretty(arguments), "json")
    )


def _tool_result(item: JsonObject) -> str:
    failed = "failed" if item.get("is_error") else None
    name = f"**Tool result** {_line(item.get('name'))}".rstrip()
    heading = _joined(name, failed, *_circumstances(item), raw=1)
    output = _text(item.get("output"))
    return _blocks(heading, _shortened(output, "") if output else "")


def _plan(item: JsonObject) -> str:
    entries = item.get("entries")
    found = entries if isinstance(entries, (list, tuple)) else ()
    lines = [_entry(entry) for entry in found if isinstance(entry, Mapping)]
    return _blocks(_joined("**Plan**", *_circumstances(item), raw=1), "\n".join(lines))


def _entry(entry: JsonObject) -> str:
    status = entry.get("status")
    box = "x" if status == "completed" else " "
    note = f" ({_line(status)})" if status not in (None, "", "completed", "pending") else ""
    return f"- [{box}] {_line(entry.get('content'))}{note}"


def _event(item: JsonObject) -> str:
    details = item.get("details")
    return "- " + _joined(item.get("event"), *_circumstances(item), details or None)


def _error(item: JsonObject) -> str:
    code = f"({_line(item.get('code'))})" if item.get("code") else ""
    said = f"**Error** {code} {_line(item.get('error'))}".replace("  ", " ").rstrip()
    return "- " + _joined(said, *_circumstances(item), raw=1)


def _unknown(item: JsonObject) -> str:
    heading = _joined("**Entry**", item.get("type"), *_circumstances(item), raw=1)
    return _blocks(heading, _shortened(_pretty(_text(item)), "json"))


_RENDERERS: Final[Mapping[str, Callable[[JsonObject], str]]] = {
    "message": _message,
    "reasoning": _reasoning,
    "tool-call": _tool_call,
    "tool-result": _tool_result,
    "plan": _plan,
    "event": _event,
    "error": _error,
}


def _circumstances(item: JsonObject) -> Sequence[object]:
    """Return when an item came, and what is unusual about it."""
    is_cut = item.get("stream_status") == "interrupted"
    marks = [mark for mark in _MARKS if item.get(mark) is True]
    return [moment(item.get("created_at")), *marks, *(["interrupted"] if is_cut else [])]


def _joined(*words: object, raw: int = 0) -> str:
    """Put words on one line.

    Args:
        raw: how many of the first ones are Markdown already.
    """
    said = [word if n < raw else _line(word) for n, word in enumerate(words)]
    return " · ".join(str(word) for word in said if word)


def _blocks(*blocks: str) -> str:
    return "\n\n".join(block for block in blocks if block)


def _shortened(text: str, info: str) -> str:
    """Return text as a block of code without its middle, if it is too long, and say so."""
    if len(text) <= _LONGEST_OUTPUT:
        return fenced(text, info)
    end = _LONGEST_OUTPUT // 4
    start = _LONGEST_OUTPUT - end
    shown = f"{text[:start]}\n[…]\n{text[-end:]}"
    note = f"*{len(text) - start - end:,} of {len(text):,} characters are left out at \\[…\\].*"
    return _blocks(fenced(shown, info), note)


def _pretty(text: str) -> str:
    try:
        return msgspec.json.format(text, indent=2)
    except msgspec.MsgspecError:
        return text


def _line(value: object) -> str:
    text = _text(value)
    return inline(text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()
