"""Turns the messages and parts of one server session into updates. No input, no output, no clock.

The server tells of texts twice: piece by piece, and as a whole when they end. Only the whole ones
are stored there, so after a lost connection a text that is still being written has a gap that
nobody can fill; it is shown again, whole, once it has ended.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from spaced.plugin_api import ItemUpserted, TextAppended, UnknownReport, Update
from spaced_opencode.prompt_body import is_ours
from spaced_opencode.tool_parts import ToolPart

_SILENT: Final = frozenset(
    {"step-start", "step-finish", "patch", "snapshot", "file", "agent", "subtask", "retry"}
)
_MOST_MESSAGES: Final = 1000
_MOST_UNKNOWN: Final = 100


@dataclass(slots=True, eq=False)
class _TextPart:
    """A text or a thought.

    Attributes:
        shown: what was reported of it.
        has_gap: whether pieces of it were missed, so that further ones fit nowhere.
    """

    id: str
    item_type: Literal["message", "reasoning"]
    shown: str = ""
    has_gap: bool = False
    is_ended: bool = False

    @property
    def opening(self) -> dict[str, object]:
        role = {"role": "assistant"} if self.item_type == "message" else {}
        return {**role, "stream_status": "streaming"}


@dataclass(slots=True, eq=False)
class _Message:
    """A message that is followed.

    Attributes:
        is_hidden: whether its texts are no part of the conversation, such as a summary's.
        turn_id: the turn that it was made in; what comes of it later is still that turn's.
    """

    role: str
    model: str
    is_hidden: bool
    turn_id: str | None
    parts: dict[str, _TextPart | ToolPart] = field(default_factory=dict)


class Transcript:
    """What was reported of one session in one execution."""

    def __init__(self) -> None:
        self._messages: dict[str, _Message] = {}
        self._users: set[str] = set()
        self._unknown = 0

    def follow(self, info: Mapping[str, Any], turn_id: str | None) -> None:
        """Note a message whose parts are to be shown from now on."""
        message_id, role = str(info.get("id")), str(info.get("role"))
        if message_id in self._messages or role not in ("assistant", "user"):
            return
        model = f"{info.get('providerID', '')}/{info.get('modelID', '')}".strip("/")
        self._messages[message_id] = _Message(role, model, info.get("summary") is True, turn_id)
        while len(self._messages) > _MOST_MESSAGES:
            del self._messages[next(iter(self._messages))]

    def part(self, part: Mapping[str, Any]) -> list[Update]:
        """Return what a part changes; one of a message that is not followed changes nothing."""
        message = self._messages.get(str(part.get("messageID")))
        part_id, kind = part.get("id"), part.get("type")
        if message is None or not isinstance(part_id, str):
            return []
        if message.role == "user":
            return self._of_user(part, part_id, message.turn_id)
        match kind:
            case "text" | "reasoning" if message.is_hidden:
                return []
            case "text" | "reasoning":
                item_type: Literal["message", "reasoning"] = (
                    "message" if kind == "text" else "reasoning"
                )
                known = message.parts.setdefault(part_id, _TextPart(part_id, item_type))
                return self._text(message, known, part)
            case "tool":
                name, call_id = str(part.get("tool")), str(part.get("callID"))
                tool = message.parts.setdefault(part_id, ToolPart(part_id, call_id, name))
                state = part.get("state")
                is_readable = isinstance(tool, ToolPart) and isinstance(state, dict)
                return tool.take(state, message.turn_id) if is_readable else []  # type: ignore[union-attr, arg-type]
            case _ if kind in _SILENT:
                return []
            case _:
                return self._keep(str(kind), part, message.turn_id)

    def delta(self, facts: Mapping[str, Any]) -> list[Update]:
        """Return what a piece of text adds."""
        message = self._messages.get(str(facts.get("messageID")))
        part = None if message is None else message.parts.get(str(facts.get("partID")))
        text = facts.get("delta")
        is_text = facts.get("field") == "text" and isinstance(text, str)
        if message is None or not isinstance(part, _TextPart) or not is_text:
            return []
        if part.is_ended or part.has_gap:
            return []
        return self._append(part, str(text), message.turn_id)

    def rows(
        self, rows: Sequence[Mapping[str, Any]], turn_id: str | None, *, is_after_gap: bool
    ) -> list[Update]:
        """Return what whole messages, as the server has stored them, change.

        Args:
            is_after_gap: whether events were missed; otherwise they are still to come, in order.
        """
        updates: list[Update] = []
        for row in rows:
            info, parts = row.get("info"), row.get("parts")
            if not isinstance(info, dict) or not isinstance(parts, list):
                continue
            self.follow(info, turn_id)
            for part in parts:
                if not isinstance(part, dict):
                    continue
                if _is_open_text(part, info):
                    if is_after_gap:
                        self._note_gap(part)
                    continue
                updates += self.part(part)
        return updates

    def mark_gap(self) -> None:
        """Note that events were missed: pieces of open texts do not fit any more."""
        for message in self._messages.values():
            for part in message.parts.values():
                if isinstance(part, _TextPart):
                    part.has_gap = not part.is_ended

    def call(self, call_id: str) -> ToolPart | None:
        """Return a tool call by the model's name for it."""
        for message in reversed(self._messages.values()):
            for part in message.parts.values():
                if isinstance(part, ToolPart) and part.call_id == call_id:
                    return part
        return None

    def _text(self, message: _Message, known: object, part: Mapping[str, Any]) -> list[Update]:
        text = part.get("text")
        if not isinstance(known, _TextPart) or not isinstance(text, str) or known.is_ended:
            return []
        updates = self._change_to(known, text, message.turn_id)
        if _has_ended(part):
            known.is_ended = True
            if known.shown:
                item: dict[str, object] = {"type": known.item_type, "stream_status": "complete"}
                if known.item_type == "message" and message.model:
                    item["model"] = message.model
                updates.append(ItemUpserted(source=known.id, item=item, turn_id=message.turn_id))
        return updates

    def _change_to(self, known: _TextPart, text: str, turn_id: str | None) -> list[Update]:
        if text == known.shown:
            return []
        if text.startswith(known.shown) and not (known.has_gap and known.shown):
            return self._append(known, text[len(known.shown) :], turn_id)
        known.shown = text
        item = {"type": known.item_type, **known.opening, "content": text}
        return [ItemUpserted(source=known.id, item=item, turn_id=turn_id)]

    def _append(self, part: _TextPart, text: str, turn_id: str | None) -> list[Update]:
        if not text:
            return []
        part.shown += text
        return [
            TextAppended(
                source=part.id,
                text=text,
                item_type=part.item_type,
                opens_with=part.opening,
                turn_id=turn_id,
            )
        ]

    def _note_gap(self, part: Mapping[str, Any]) -> None:
        message = self._messages.get(str(part.get("messageID")))
        part_id = str(part.get("id"))
        if message is None:
            return
        item_type: Literal["message", "reasoning"] = (
            "message" if part.get("type") == "text" else "reasoning"
        )
        known = message.parts.setdefault(part_id, _TextPart(part_id, item_type))
        if isinstance(known, _TextPart):
            known.has_gap = True

    def _of_user(self, part: Mapping[str, Any], part_id: str, turn_id: str | None) -> list[Update]:
        if part.get("type") == "compaction":
            if part_id in self._users:
                return []
            self._users.add(part_id)
            details = {"is_automatic": part.get("auto") is True}
            item = {"type": "event", "event": "compaction", "details": details}
            return [ItemUpserted(source=part_id, item=item, turn_id=turn_id)]
        text = part.get("text")
        is_said = part.get("type") == "text" and not part.get("synthetic")
        if not is_said or not isinstance(text, str) or is_ours(part) or part_id in self._users:
            return []
        self._users.add(part_id)
        item = {"type": "message", "role": "user", "origin": "agent", "content": text}
        return [ItemUpserted(source=part_id, item=item, turn_id=turn_id)]

    def _keep(self, kind: str, part: Mapping[str, Any], turn_id: str | None) -> list[Update]:
        self._unknown += 1
        if self._unknown > _MOST_UNKNOWN:
            return []
        return [UnknownReport(kind=f"opencode:part:{kind}", payload=dict(part), turn_id=turn_id)]


def _has_ended(part: Mapping[str, Any]) -> bool:
    time = part.get("time")
    return isinstance(time, dict) and time.get("end") is not None


def _is_open_text(part: Mapping[str, Any], info: Mapping[str, Any]) -> bool:
    """Tell whether a stored part is a text that is still being written."""
    is_text = part.get("type") in ("text", "reasoning") and info.get("role") == "assistant"
    return is_text and not _has_ended(part)
