"""The first gate: what the schema says of a document, in words and with places.

The schema decides; here its errors are only told better. A fragment of it whose `$comment` is
`rule …` says what the second gate says too, with a finer place; `code …` names the finding's code.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from spaced.domain.workflow import TRIGGERS
from spaced.portable.keys import ACTION_TYPES, nearest
from spaced.portable.schemas import Version, schema
from spaced.portable.tree import Path
from spaced.portable.words import at, either, shown

_EVENTS: Final = 4
"""Where `events` stands in the path of anything below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What the schema refuses.

    Attributes:
        path: of the key that it is about.
        is_also_a_rule: whether the second gate tells it too.
    """

    path: Path
    code: str
    message: str
    remedy: str
    is_also_a_rule: bool = False


_KINDS: Final = {
    "string": "a text",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def refusals(document: dict[str, Any], version: Version) -> Iterator[Refusal]:
    """Yield everything that the schema of a version refuses; `version` itself is not looked at."""
    for error in _validator(version).iter_errors(document):
        path = tuple(error.instance_path)
        if path != ("version",):
            yield from _told(document, path, _Broken(version, error))


@cache
def _validator(version: Version) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for(schema(version))


class _Broken:
    """A broken keyword of the schema: where it stands, and what is written beside it."""

    def __init__(self, version: Version, error: Any) -> None:
        path: Sequence[Any] = error.schema_path
        self.keyword = str(path[-1])
        self.kind = error.kind
        self.fragment: Any = schema(version)
        self.comment = ""
        self.description = ""
        for part in path[:-1]:
            self.fragment = self.fragment[part]
            if isinstance(self.fragment, dict):
                self.comment = self.fragment.get("$comment", self.comment)
                self.description = self.fragment.get("description", self.description)

    @property
    def expected(self) -> Any:
        """What the keyword demands."""
        return self.fragment[self.keyword]


def _told(document: object, path: Path, broken: _Broken) -> Iterator[Refusal]:
    if broken.comment:
        yield _commented(path, broken)
    elif broken.keyword == "required":
        if (name := broken.kind.property) != "version":
            yield _missing(document, path, name)
    elif broken.keyword == "additionalProperties":
        for name in broken.kind.unexpected:
            yield _unknown_trigger((*path, name), name)
    elif broken.keyword == "type":
        yield _wrong_kind(document, path, broken)
    elif path == ("type",):
        yield Refusal(
            path=path,
            code="wrong-type-name",
            message=f"the type is {shown(at(document, path))}",
            remedy="write `type: kandev_workflow`",
        )
    elif _is_action_type(path):
        yield _wrong_action(path, str(at(document, path)), broken.expected)
    else:
        yield _wrong_value(document, path, broken)


def _commented(path: Path, broken: _Broken) -> Refusal:
    kind, code = broken.comment.split()
    return Refusal(
        path=path,
        code=code,
        message=broken.description.rstrip("."),
        remedy="correct it, or remove what is too much",
        is_also_a_rule=kind == "rule",
    )


def _missing(document: object, path: Path, name: str) -> Refusal:
    action = _action_of(document, path)
    if name == "step_position" and at(document, (*path, "step_id")) is not None:
        return Refusal(
            path=(*path, "step_id"),
            code="missing-key" if action is None else "missing-config",
            message="`step_id` names no step in a file",
            remedy="name the step by its position: `step_position`",
        )
    if action is None:
        return Refusal(
            path=(*path, name),
            code="missing-key",
            message=f"{name!r} is missing",
            remedy=f"add {name!r}" if path else _ENVELOPE,
        )
    needed = f"config with {_needed(action)}" if name == "config" else repr(name)
    return Refusal(
        path=(*path, name),
        code="missing-config",
        message=f"{action!r} without {needed}",
        remedy=f"add {needed}",
    )


_ENVELOPE: Final = (
    "begin the file with `version: 1`, `type: kandev_workflow` and the list `workflows`; "
    "a built-in template is no portable file"
)


def _needed(action: str) -> str:
    return {
        "move_to_step": "`step_position`",
        "set_session_mode": "`mode`",
        "configure_session": "`rules`",
        "queue_run": "`target`",
        "run_script": "`command`",
    }.get(action, "`role`")


def _unknown_trigger(path: Path, name: str) -> Refusal:
    near = nearest(name, TRIGGERS)
    remedy = f"write `{near}`" if near else f"the triggers are {either(TRIGGERS)}"
    return Refusal(
        path=path, code="unknown-trigger", message=f"unknown trigger {name!r}", remedy=remedy
    )


def _wrong_action(path: Path, name: str, allowed: Sequence[str]) -> Refusal:
    if name not in ACTION_TYPES:
        near = nearest(name, ACTION_TYPES)
        remedy = f"write `{near}`" if near else f"the actions here are {either(allowed)}"
        return Refusal(
            path=path, code="unknown-action", message=f"unknown action {name!r}", remedy=remedy
        )
    return Refusal(
        path=path,
        code="action-not-allowed",
        message=f"{name!r} is not allowed in {path[-3]}",
        remedy=f"it is allowed in {either(_allowing(name))}",
    )


def _allowing(action: str) -> list[str]:
    triggers = schema(2)["$defs"]["step"]["properties"]["events"]["properties"]
    return [
        name
        for name, trigger in triggers.items()
        if action in trigger["items"]["allOf"][1]["properties"]["type"]["enum"]
    ]


def _wrong_kind(document: object, path: Path, broken: _Broken) -> Refusal:
    value, expected = at(document, path), broken.expected
    kinds = [expected] if isinstance(expected, str) else [k for k in expected if k != "null"]
    if path[-1:] == ("config",) and value is None:
        return _missing(document, path[:-1], "config")
    quotes = kinds == ["string"] and isinstance(value, (int, float))
    name = "an entry" if not path or isinstance(path[-1], int) else repr(path[-1])
    return Refusal(
        path=path,
        code="wrong-value",
        message=f"{name} is {shown(value)}, where {_KINDS[kinds[0]]} belongs",
        remedy="put it in quotes" if quotes else f"write {_KINDS[kinds[0]]}",
    )


def _wrong_value(document: object, path: Path, broken: _Broken) -> Refusal:
    value = at(document, path)
    empty = value in ("", []) or (isinstance(value, str) and not value.strip())
    name = "an entry" if not path or isinstance(path[-1], int) else repr(path[-1])
    return Refusal(
        path=path,
        code="wrong-value",
        message=f"{name} is empty" if empty else f"{name} cannot be {shown(value)}",
        remedy=_allowed(broken),
    )


def _allowed(broken: _Broken) -> str:
    match broken.keyword:
        case "enum":
            return f"write {either([str(word) for word in broken.expected if word is not None])}"
        case "minimum":
            return f"the smallest number is {broken.expected}"
        case "maximum":
            return f"the largest number is {broken.expected}"
        case _:
            return f"write what it is for: {broken.description.rstrip('.')}"


def _is_action_type(path: Path) -> bool:
    return path[-1:] == ("type",) and path[_EVENTS : _EVENTS + 1] == ("events",)


def _action_of(document: object, path: Path) -> str | None:
    """Return the type of the action that a path lies in."""
    if len(path) < _EVENTS + 3 or path[_EVENTS] != "events":
        return None
    name = at(document, (*path[: _EVENTS + 3], "type"))
    return name if isinstance(name, str) else None
