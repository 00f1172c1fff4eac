"""Names the parts of a document in its author's words."""

import json
from collections.abc import Sequence
from typing import Final

from spaced.portable.tree import Path

_LONGEST: Final = 60


def where(document: object, path: Path) -> str:
    """Return the workflow and the step that a path lies in, by their names."""
    words: list[str] = []
    for kind, depth in (("workflow", 2), ("step", 4)):
        if len(path) < depth or path[depth - 2] != f"{kind}s":
            break
        name = at(document, (*path[:depth], "name"))
        is_named = isinstance(name, str) and name.strip() != ""
        number = path[depth - 1]
        label = repr(name) if is_named else f"#{int(number) + 1}"
        words.append(f"{kind} {label}")
    return ": ".join(words)


def at(document: object, path: Path) -> object:
    """Return the value at a path, or `None` if there is nothing."""
    value = document
    for part in path:
        if isinstance(value, dict) and isinstance(part, str):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def shown(value: object) -> str:
    """Return a value as a finding tells it, cut if it is long."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def either(words: Sequence[str]) -> str:
    """Return words as a choice: `a, b or c`."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
