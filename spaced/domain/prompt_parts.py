"""The parts of a prompt: what a client may send, and what the transcript shows of it."""

from collections.abc import Sequence
from typing import Final

import msgspec

from spaced.domain.json_values import JsonObject
from spaced.domain.text_door import storable_object
from spaced.refusals import InvalidPrompt

LARGEST_PROMPT: Final = 2 * 1024 * 1024
"""Bytes of JSON; what is larger belongs into a file or a blob."""

_TITLE_LENGTH: Final = 80
_REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "text": ("text",),
    "file": ("name", "mime"),
    "mention": ("name",),
}


def check_parts(parts: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
    """Return the parts as they can be stored.

    Raises:
        InvalidPrompt: there is none, one of them is not of a known form, or they are too large.
    """
    if not parts:
        raise InvalidPrompt("a prompt has no parts")
    checked = tuple(_check(index, part) for index, part in enumerate(parts))
    size = len(msgspec.json.encode(checked))
    if size > LARGEST_PROMPT:
        raise InvalidPrompt(
            f"a prompt of {size:,} bytes is over the limit of {LARGEST_PROMPT:,} bytes",
            remedy="Put the text into a file and name it in a part {type: file, name, mime, path}.",
        )
    return checked


def _check(index: int, part: JsonObject) -> JsonObject:
    kind = part.get("type")
    if not isinstance(kind, str) or kind not in _REQUIRED:
        raise InvalidPrompt(f"parts[{index}].type is {kind!r}, not 'text', 'file' or 'mention'")
    for name in _REQUIRED[kind]:
        if not isinstance(part.get(name), str):
            raise InvalidPrompt(f"parts[{index}] of type {kind!r} lacks the text {name!r}")
    places = [isinstance(part.get(name), str) for name in ("blob", "path")]
    if kind == "file" and places.count(True) != 1:
        raise InvalidPrompt(f"parts[{index}] of type 'file' needs either 'blob' or 'path'")
    return storable_object(part)


def text_of(parts: Sequence[JsonObject]) -> str:
    """Return all text of a prompt, parts separated by an empty line."""
    return "\n\n".join(str(part["text"]) for part in parts if part.get("type") == "text")


def title_from(parts: Sequence[JsonObject]) -> str | None:
    """Return a title for a session that has none: the beginning of its first prompt's text."""
    lines = (" ".join(line.split()) for line in text_of(parts).splitlines())
    first = next((line for line in lines if line), None)
    if first is None or len(first) <= _TITLE_LENGTH:
        return first
    return first[: _TITLE_LENGTH - 1].rstrip() + "…"


def shown_item(prompt_id: str, parts: Sequence[JsonObject]) -> JsonObject:
    """Return the fields of the item that shows a prompt in the transcript."""
    others = [part for part in parts if part.get("type") != "text"]
    fields: dict[str, object] = {
        "type": "message",
        "role": "user",
        "content": text_of(parts),
        "prompt_id": prompt_id,
    }
    if others:
        fields["parts"] = others
    return fields
