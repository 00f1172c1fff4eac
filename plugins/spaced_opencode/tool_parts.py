"""Tool calls as the server shows them: each a call and, once there is one, a result.

A part is told again whenever something of it changes, sometimes out of order after a lost
connection; it never goes back, and only what differs is reported.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spaced.plugin_api import ItemUpserted, TextAppended, Update

_RANKS: Final = {"pending": 0, "running": 1, "completed": 2, "error": 2}
_ENDED: Final = 2
_KINDS: Final = {
    "bash": "execute",
    "edit": "edit",
    "write": "edit",
    "multiedit": "edit",
    "patch": "edit",
    "apply_patch": "edit",
    "read": "read",
    "glob": "search",
    "grep": "search",
    "list": "search",
    "codesearch": "search",
    "webfetch": "fetch",
    "websearch": "fetch",
    "task": "think",
    "todowrite": "think",
    "todoread": "think",
}
_TITLES: Final = ("command", "filePath", "path", "url", "pattern", "description", "query")
_PLACES: Final = ("filePath", "path")
_LONGEST_TITLE: Final = 300


def kind_of(name: str) -> str:
    """Return what kind of tool or permission this is."""
    return _KINDS.get(name, "other")


def as_json(value: object) -> str:
    """Return arguments as the text that items carry."""
    return json.dumps(value, ensure_ascii=False)


def described(name: str, arguments: Mapping[str, Any]) -> str:
    """Return what a person is shown of a call that has no title yet."""
    for key in _TITLES:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return value[:_LONGEST_TITLE]
    return name


@dataclass(slots=True, eq=False)
class ToolPart:
    """One call.

    Attributes:
        id: the part's, which is also the source of its item.
        name: the tool's.
        arguments: as they were told last; empty until they are whole.
    """

    id: str
    call_id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    _rank: int = -1
    _shown: dict[str, object] = field(default_factory=dict)
    _output: str | None = None

    @property
    def is_ended(self) -> bool:
        """Whether it has its last state."""
        return self._rank >= _ENDED

    def take(self, state: Mapping[str, Any], turn_id: str | None) -> list[Update]:
        """Return what a state changes."""
        rank = _RANKS.get(str(state.get("status")), -1)
        if rank < self._rank or self.is_ended:
            return []
        self._rank = rank
        told = state.get("input")
        if isinstance(told, dict) and told:
            self.arguments = told
        return [*self._call(state, turn_id), *self._result(state, turn_id)]

    def _call(self, state: Mapping[str, Any], turn_id: str | None) -> list[Update]:
        item: dict[str, object] = {
            "name": self.name,
            "kind": kind_of(self.name),
            "status": _status(state),
            "title": state.get("title") or described(self.name, self.arguments),
        }
        if self.arguments:
            item["arguments"] = as_json(self.arguments)
        if places := [self.arguments[name] for name in _PLACES if name in self.arguments]:
            item["locations"] = [{"path": str(place)} for place in places[:1]]
        new = {name: value for name, value in item.items() if self._shown.get(name) != value}
        self._shown.update(new)
        if not new:
            return []
        base = {"type": "tool-call", "call_id": self.call_id}
        return [ItemUpserted(source=self.id, item={**base, **new}, turn_id=turn_id)]

    def _result(self, state: Mapping[str, Any], turn_id: str | None) -> list[Update]:
        source = f"{self.id}/result"
        base: dict[str, object] = {
            "type": "tool-result",
            "call_id": self.call_id,
            "name": self.name,
        }
        if self.is_ended:
            is_error = state.get("status") == "error"
            output = _text(state.get("error" if is_error else "output"))
            item = {**base, "output": output, "is_error": is_error, "stream_status": "complete"}
            return [ItemUpserted(source=source, item=item, turn_id=turn_id)]
        metadata = state.get("metadata")
        output = _text(metadata.get("output")) if isinstance(metadata, dict) else ""
        before = self._output
        if not output or output == before:
            return []
        self._output = output
        if before is not None and not output.startswith(before):
            item = {**base, "output": output, "stream_status": "streaming"}
            return [ItemUpserted(source=source, item=item, turn_id=turn_id)]
        return [
            TextAppended(
                source=source,
                text=output[len(before or "") :],
                item_type="tool-result",
                field="output",
                opens_with={**base, "stream_status": "streaming"},
                turn_id=turn_id,
            )
        ]


def _status(state: Mapping[str, Any]) -> str:
    status = str(state.get("status"))
    if status != "error":
        return status if status in _RANKS else "running"
    metadata = state.get("metadata")
    was_stopped = isinstance(metadata, dict) and metadata.get("interrupted") is True
    return "interrupted" if was_stopped else "failed"


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else as_json(value)
