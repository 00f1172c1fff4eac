"""Turns what an agent says into updates of a transcript. No input, no output, no clock.

A message lasts until another one begins: the agent's name for it says where, or, from agents that
name none, a change of what is being said.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal

from spaced.plugin_api import (
    ItemUpserted,
    JsonObject,
    SessionInfoChanged,
    TextAppended,
    UnknownReport,
    Update,
    UsageChanged,
)
from spaced_acp.reports import (
    CallChanged,
    ContextUsed,
    InfoChanged,
    PlanReplaced,
    Report,
    Said,
    Unknown,
)
from spaced_acp.tool_calls import ToolCalls

_MOST_UNKNOWN: Final = 100
"""How many things of one unknown kind are kept in a turn; the others are counted."""

_LONGEST_TEXT: Final = 4096
_REMEMBERED: Final = 5000


class Transcript:
    """One execution's part of a conversation.

    Attributes:
        calls: its tool calls.
    """

    def __init__(self, execution_id: str) -> None:
        self.calls = ToolCalls()
        self._execution_id = execution_id
        self._numbers = 0
        self._open: _OpenMessage | None = None
        self._unknown: Counter[str] = Counter()
        self._turns_of: dict[str, str | None] = {}

    def take(
        self, report: Report, *, turn_id: str | None, conversation: str | None = None
    ) -> Sequence[Update]:
        """Return what a report changes.

        Args:
            conversation: the agent's name for it where it is another one than the session's own,
                such as that of an agent that the agent has started.
        """
        marks: dict[str, object] = {} if conversation is None else {"conversation": conversation}
        match report:
            case Said():
                return self._say(report, turn_id, conversation, marks)
            case CallChanged():
                return [
                    *self.close_message(),
                    *self.calls.change(report, turn_id=turn_id, marks=marks),
                ]
            case PlanReplaced(entries=entries):
                source = f"plan:{turn_id or self._execution_id}"
                item = {"type": "plan", "entries": list(entries), **marks}
                return [ItemUpserted(source=source, item=item, turn_id=turn_id)]
            case InfoChanged(info=info):
                return [SessionInfoChanged(info=info, turn_id=turn_id)] if info else []
            case ContextUsed(usage=usage):
                return [UsageChanged(usage=usage, turn_id=turn_id)] if usage else []
            case Unknown():
                return self._keep_unknown(report, turn_id)

    def close_message(self) -> list[Update]:
        """Return the end of the message that is being said, if there is one."""
        if self._open is None:
            return []
        done, self._open = self._open, None
        item = {"type": done.item_type, "stream_status": "complete"}
        return [ItemUpserted(source=done.source, item=item, turn_id=done.turn_id)]

    def end_turn(self, turn_id: str) -> Sequence[Update]:
        """Return what there is to say before a turn's end."""
        uncounted = {kind: n - _MOST_UNKNOWN for kind, n in self._unknown.items()}
        self._unknown.clear()
        omitted = [
            UnknownReport(kind=kind, payload={"omitted": number}, turn_id=turn_id)
            for kind, number in uncounted.items()
            if number > 0
        ]
        return [*self.close_message(), *self.calls.end_turn(turn_id), *omitted]

    def _say(
        self, said: Said, turn_id: str | None, conversation: str | None, marks: JsonObject
    ) -> list[Update]:
        if said.block is not None:
            return [*self.close_message(), self._block(said, turn_id, marks)]
        if not said.text:
            return []
        updates: list[Update] = []
        key = (conversation, said.speaker, said.message_id)
        if self._open is None or self._open.key != key or self._open.turn_id != turn_id:
            updates += self.close_message()
            self._open = _OpenMessage(key, self._source(said, conversation, turn_id), turn_id)
        is_message = self._open.item_type == "message"
        opening = {"role": "user", "origin": "agent"} if said.speaker == "user" else _ASSISTANT
        opens_with = {**(opening if is_message else {}), "stream_status": "streaming", **marks}
        updates.append(
            TextAppended(
                source=self._open.source,
                text=said.text,
                item_type=self._open.item_type,
                opens_with=opens_with,
                turn_id=turn_id,
            )
        )
        return updates

    def _block(self, said: Said, turn_id: str | None, marks: JsonObject) -> ItemUpserted:
        item = {
            "type": "message",
            "role": "user" if said.speaker == "user" else "assistant",
            "content": "",
            "parts": [said.block],
            "stream_status": "complete",
            **marks,
        }
        return ItemUpserted(source=self._next_source(), item=item, turn_id=turn_id)

    def _source(self, said: Said, conversation: str | None, turn_id: str | None) -> str:
        if said.message_id is None:
            return self._next_source()
        # Some agents give what they think the id of what they then say.
        name = f"{said.speaker}:{said.message_id}"
        name = name if conversation is None else f"{conversation}/{name}"
        # And some count their messages anew in each turn.
        begun_in = self._turns_of.setdefault(name, turn_id)
        if len(self._turns_of) > _REMEMBERED:
            del self._turns_of[next(iter(self._turns_of))]
        return name if begun_in == turn_id else f"{name}@{turn_id}"

    def _next_source(self) -> str:
        self._numbers += 1
        return f"{self._execution_id}:{self._numbers}"

    def _keep_unknown(self, unknown: Unknown, turn_id: str | None) -> list[Update]:
        self._unknown[unknown.kind] += 1
        if self._unknown[unknown.kind] > _MOST_UNKNOWN:
            return []
        payload = shortened(unknown.payload)
        return [UnknownReport(kind=unknown.kind, payload=payload, turn_id=turn_id)]


class _OpenMessage:
    """The message that is being said."""

    def __init__(
        self, key: tuple[str | None, str, str | None], source: str, turn_id: str | None
    ) -> None:
        self.key = key
        self.source = source
        self.turn_id = turn_id
        self.item_type: Literal["message", "reasoning"] = (
            "reasoning" if key[1] == "reasoning" else "message"
        )


_ASSISTANT: Final[JsonObject] = {"role": "assistant"}


def shortened(payload: JsonObject) -> JsonObject:
    """Return an object whose long texts are cut, for what nobody has asked for."""
    return {str(name): _shortened(value) for name, value in payload.items()}


def _shortened(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]}…"
    if isinstance(value, dict):
        return shortened(value)
    if isinstance(value, list):
        return [_shortened(one) for one in value[:_MOST_UNKNOWN]]
    return value
