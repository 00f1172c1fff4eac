"""Tool calls as an agent leaves them: each a call and, once there is one, a result.

An update may be the first sight of a call, may repeat what is known, and may come after the end;
so each is laid over what is known, and only what differs is reported.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spaced.plugin_api import ItemUpserted, JsonObject, TextAppended
from spaced_acp.reports import CallChanged

ENDED: Final = frozenset({"completed", "failed", "interrupted"})
REJECTED: Final = "The call was rejected."

_REMEMBERED: Final = 500
_OUTPUTS: Final = ("formatted_output", "aggregated_output", "output", "stdout")
_PLACES: Final = ("file_path", "filePath", "filepath", "path", "absolute_path", "url", "uri")


@dataclass(slots=True, kw_only=True)
class _Call:
    """What is known of a call.

    Attributes:
        name: what the call is called in the transcript.
        turn_id: the turn in which it began.
        known: as the agent told it last, by the names of `CallChanged`.
        shown: what was reported of the call and of its result.
        has_printed: whether its output came piece by piece.
    """

    name: str
    turn_id: str | None
    known: dict[str, Any] = field(default_factory=dict)
    shown: dict[str, object] = field(default_factory=dict)
    shown_result: dict[str, object] = field(default_factory=dict)
    is_rejected: bool = False
    has_printed: bool = False

    @property
    def status(self) -> str:
        return str(self.known.get("status", "pending"))


class ToolCalls:
    """The calls of one conversation."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}
        self._at_work: set[str] = set()

    def change(
        self, change: CallChanged, *, turn_id: str | None, marks: JsonObject
    ) -> list[ItemUpserted | TextAppended]:
        """Lay a change over what is known and return what is new.

        Args:
            marks: fields that every item of it gets.
        """
        call = self._call(change, turn_id)
        changes = dict(change.changes)
        printed = changes.pop("printed", "")
        call.has_printed = call.has_printed or bool(printed)
        call.known = _laid_over(call.known, changes)
        if call.status in ENDED:
            self._at_work.discard(change.call_id)
        else:
            self._at_work.add(change.call_id)
        updates = self._updates(call, turn_id, marks, printed=str(printed))
        self._forget_old()
        return updates

    def _call(self, change: CallChanged, turn_id: str | None) -> _Call:
        """Return the call that a change is about.

        Some agents count their calls anew in each turn: one that is told as new after its end, in
        another turn, is another one.
        """
        call = self._calls.get(change.call_id)
        is_other = (
            call is not None
            and change.is_beginning
            and call.status in ENDED
            and call.turn_id != turn_id
        )
        if call is None or is_other:
            name = f"{change.call_id}@{turn_id}" if is_other else change.call_id
            # Taken out first, so that the newest stands last.
            self._calls.pop(change.call_id, None)
            call = self._calls[change.call_id] = _Call(name=name, turn_id=turn_id)
        return call

    def is_any_at_work(self) -> bool:
        """Tell whether a tool of this turn may be at work, so that silence means nothing.

        Also one that has only been announced: some agents never say that it has begun.
        """
        return bool(self._at_work)

    def wanted(self, change: CallChanged) -> CallChanged:
        """Return what a permission tells anew of its call.

        Its arguments are what a person allows, so they hold. All else is known better already:
        agents put a shorter title or an earlier status there.
        """
        call = self._calls.get(change.call_id)
        known = {} if call is None else call.known
        new = {
            name: value
            for name, value in change.changes.items()
            if name == "raw_input" or not known.get(name)
        }
        return CallChanged(call_id=change.call_id, changes=new)

    def item_of(self, change: CallChanged) -> JsonObject:
        """Return a call, known or not, as a person who has to allow it should see it.

        What is allowed for good is told by the arguments. Where an agent tells none, what it shows
        stands for them: without any, one call of a tool would be like every other.
        """
        item = _call_item(self._known(change))
        shown = {name: item[name] for name in ("title", "locations", "diffs") if name in item}
        return {"arguments": _json(shown), **item}

    def subject_of(self, change: CallChanged) -> str:
        """Return what a rule's pattern is compared with: a command, a path, or the title."""
        return _subject(self._known(change))

    def source_of(self, call_id: str) -> str | None:
        """Return the source of a call's item, if it was shown."""
        call = self._calls.get(call_id)
        return None if call is None else f"call:{call.name}"

    def _known(self, change: CallChanged) -> Mapping[str, Any]:
        call = self._calls.get(change.call_id)
        return change.changes if call is None else call.known

    def reject(self, call_id: str) -> None:
        """Note that a person said no: some agents never tell what became of the call then."""
        if call_id in self._calls:
            self._calls[call_id].is_rejected = True

    def end_turn(self, turn_id: str) -> list[ItemUpserted | TextAppended]:
        """Return how rejected calls ended that the agent has left as they were."""
        self._at_work.clear()
        updates: list[ItemUpserted | TextAppended] = []
        for call in self._calls.values():
            if call.is_rejected and call.status not in ENDED:
                call.known |= {"status": "failed", "raw_output": REJECTED}
                updates += self._updates(call, turn_id, {})
        return updates

    def _updates(
        self,
        call: _Call,
        turn_id: str | None,
        marks: JsonObject,
        *,
        printed: str = "",
    ) -> list[ItemUpserted | TextAppended]:
        updates: list[ItemUpserted | TextAppended] = []
        call_id = call.name
        item = _new_in(_call_item(call.known), call.shown)
        if item:
            item = {"type": "tool-call", "call_id": call_id, **item, **marks}
            updates.append(ItemUpserted(source=f"call:{call_id}", item=item, turn_id=turn_id))
        base = {"type": "tool-result", "call_id": call_id, "name": call.shown["name"]}
        if printed:
            opening = {"call_id": call_id, "name": base["name"], "stream_status": "streaming"}
            updates.append(
                TextAppended(
                    source=f"result:{call_id}",
                    text=printed,
                    item_type="tool-result",
                    field="output",
                    opens_with={**opening, **marks},
                    turn_id=turn_id,
                )
            )
        result = _new_in(_result_item(call), call.shown_result)
        if result:
            item = {**base, **result, **marks}
            updates.append(ItemUpserted(source=f"result:{call_id}", item=item, turn_id=turn_id))
        return updates

    def _forget_old(self) -> None:
        ended = [call_id for call_id, call in self._calls.items() if call.status in ENDED]
        for call_id in ended[: max(len(self._calls) - _REMEMBERED, 0)]:
            del self._calls[call_id]


def _laid_over(known: Mapping[str, Any], changes: Mapping[str, object]) -> dict[str, Any]:
    """Return what is known with changes over it.

    Arguments that come in parts are put together: agents tell some with the call and others with
    the permission, and then the first again.
    """
    before, now = known.get("raw_input"), changes.get("raw_input")
    merged = {**known, **changes}
    if isinstance(before, dict) and isinstance(now, dict):
        merged["raw_input"] = {**before, **now}
    return merged


def _new_in(item: JsonObject, shown: dict[str, object]) -> dict[str, object]:
    new = {name: value for name, value in item.items() if shown.get(name, _NOTHING) != value}
    shown.update(new)
    return new


_NOTHING: Final = object()


def _call_item(known: Mapping[str, Any]) -> dict[str, object]:
    item: dict[str, object] = {
        "name": known.get("name") or known.get("kind") or "tool",
        "status": known.get("status", "pending"),
    }
    for name in ("title", "kind"):
        if name in known:
            item[name] = known[name]
    if "raw_input" in known:
        item["arguments"] = _json(known["raw_input"])
    if locations := _locations(known.get("locations")):
        item["locations"] = locations
    if diffs := _diffs(known.get("content")):
        item["diffs"] = diffs
    return item


def _result_item(call: _Call) -> dict[str, object]:
    known, status = call.known, call.known.get("status")
    if status in ENDED:
        ending = {"is_error": status != "completed", "stream_status": "complete"}
        return ending if call.has_printed else {"output": _output(known), **ending}
    if status == "running" and (output := _content_text(known.get("content"))):
        return {"output": output, "stream_status": "streaming"}
    return {}


def _output(known: Mapping[str, Any]) -> str:
    raw = known.get("raw_output")
    if isinstance(raw, str):
        return raw
    text = _content_text(known.get("content"))
    if text or raw is None:
        return text
    told = raw if isinstance(raw, dict) else {}
    named = (told.get(name) for name in _OUTPUTS)
    return next((one for one in named if isinstance(one, str) and one), None) or _json(raw)


def _content_text(content: object) -> str:
    texts = []
    for entry in content if isinstance(content, list) else []:
        block = entry.get("content") if isinstance(entry, Mapping) else None
        if isinstance(block, Mapping) and isinstance(block.get("text"), str):
            texts.append(block["text"])
    return "\n".join(texts)


def _diffs(content: object) -> list[JsonObject]:
    return [
        {
            "path": entry.get("path"),
            "old_text": entry.get("oldText"),
            "new_text": entry.get("newText"),
        }
        for entry in (content if isinstance(content, list) else [])
        if isinstance(entry, Mapping) and entry.get("type") == "diff"
    ]


def _locations(locations: object) -> list[JsonObject]:
    found = locations if isinstance(locations, list) else []
    return [
        {name: one[name] for name in ("path", "line") if one.get(name) is not None}
        for one in found
        if isinstance(one, Mapping) and isinstance(one.get("path"), str)
    ]


def _subject(known: Mapping[str, Any]) -> str:
    arguments = known.get("raw_input")
    if isinstance(arguments, Mapping):
        command = arguments.get("command")
        if isinstance(command, list):
            return shlex.join(str(word) for word in command)
        for name in ("command", *_PLACES):
            if isinstance(arguments.get(name), str):
                return str(arguments[name])
    if known.get("kind") != "execute" and (places := _locations(known.get("locations"))):
        return str(places[0]["path"])
    return str(known.get("title", ""))


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
