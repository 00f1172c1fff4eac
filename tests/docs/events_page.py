"""Writes docs/events.md from the classes of all events; a test compares the two."""

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Iterable, Mapping
from types import ModuleType

from spaced.domain.event_codec import stored_kind
from spaced.domain.events.catalogue import MODULES, events_of
from spaced.domain.events.event import Event, StreamFamily
from spaced.domain.session_items import COMMON_FIELDS, TYPE_FIELDS

INTRODUCTION = """\
# Events

Facts are events; everything else that spaced knows follows from them. This page is made from the
classes in `spaced/domain/events/`; `make docs` writes it anew.

Every event stands in a stream: one for each run, workflow, profile and sync source, and `system`.
Its envelope says where and when:

| field | meaning |
| --- | --- |
| `stream`, `version` | its identity: versions of a stream are 1, 2, 3, … without gaps |
| `position` | its place in the whole log, ascending; only versions and positions order anything |
| `kind` | what happened, as below; from the second version of a body on the kind carries it (`turn-ended.2`) |
| `session_id` | the session that it is about, on every event marked *of a session* |
| `item_id` | the body's item id again, as an index |
| `body` | exactly the fields below; a field without a value is left out |
| `created_at` | when it happened |
| `recorded_at` | when it was stored |

Readers ignore kinds and fields that they do not know.
"""

FAMILY_TITLES = {
    StreamFamily.RUN: "Stream of a run",
    StreamFamily.WORKFLOW: "Stream of a workflow",
    StreamFamily.PROFILE: "Stream of a profile",
    StreamFamily.SYNC_SOURCE: "Stream of a sync source",
    StreamFamily.SYSTEM: "Stream `system`",
}


def page() -> str:
    """Return the whole page."""
    parts = [INTRODUCTION]
    shown: StreamFamily | None = None
    for module in MODULES:
        family = events_of(module)[0].family
        if family is not shown:
            parts.append(f"## {FAMILY_TITLES[family]}\n")
            shown = family
        parts.append(_module_section(module))
    parts.append(_items_section())
    return "\n".join(parts)


def _module_section(module: ModuleType) -> str:
    summary = _paragraphs(module)[0]
    return "\n".join([f"### {summary}\n", *map(_event_section, events_of(module))])


def _event_section(cls: type[Event]) -> str:
    summary = _paragraphs(cls)[0]
    scope = " *Of a session.*" if cls.is_of_session else ""
    lines = [f"#### `{stored_kind(cls)}`\n", f"{summary}{scope}\n"]
    fields = _fields(cls)
    if fields:
        rows = [f"| `{name}` | {kind} | {need} | {text} |" for name, kind, need, text in fields]
        lines += ["| field | type | | meaning |", "| --- | --- | --- | --- |", *rows, ""]
    return "\n".join(lines)


def _fields(cls: type[Event]) -> list[tuple[str, str, str, str]]:
    hints = typing.get_type_hints(cls)
    described = _attributes(cls)
    return [
        (
            field.name,
            _type_name(hints[field.name]),
            "required" if field.default is dataclasses.MISSING else "optional",
            described.get(field.name, ""),
        )
        for field in dataclasses.fields(cls)  # type: ignore[arg-type]  # every event is a dataclass
    ]


def _type_name(hint: object) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _type_name(next(a for a in arguments if a is not type(None)))
    if origin is typing.Literal:
        return " ".join(f"`{value}`" for value in arguments)
    if origin is tuple:
        return f"list of {_type_name(arguments[0])}"
    if origin in (Mapping, dict):
        return "object"
    names = {str: "string", int: "integer", bool: "boolean", object: "any"}
    return names.get(hint, getattr(hint, "__name__", str(hint)).lower())  # type: ignore[call-overload, no-any-return]  # a hint of any other kind is no key


def _paragraphs(thing: object) -> list[str]:
    text = inspect.getdoc(thing) or ""
    return [" ".join(part.split()) for part in text.split("\n\n")]


def _attributes(cls: type[Event]) -> dict[str, str]:
    """Read the lines under `Attributes:` of a docstring."""
    _, _, block = (inspect.getdoc(cls) or "").partition("Attributes:\n")
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", block, flags=re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


def _items_section() -> str:
    def rows(fields: Iterable[tuple[str, str]]) -> list[str]:
        return [f"| `{name}` | {text} |" for name, text in fields]

    lines = [
        "## Items\n",
        "An item is one entry of a transcript: an open object; these are the fields that spaced",
        "itself writes and reads.\n",
        "| field of any item | meaning |",
        "| --- | --- |",
        *rows(COMMON_FIELDS.items()),
        "",
    ]
    for item_type, fields in TYPE_FIELDS.items():
        lines += [
            f"| field of `{item_type}` | meaning |",
            "| --- | --- |",
            *rows(fields.items()),
            "",
        ]
    return "\n".join(lines)
