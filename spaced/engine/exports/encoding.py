"""Turns a chat's items, states and events into JSON, with secrets hidden; safe in any thread."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from spaced.clock import Timestamp, to_rfc3339
from spaced.domain.events.catalogue import EVENTS
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
)
from spaced.engine.exports.blob_names import blobs_in
from spaced.engine.exports.chat_reader import ToldItem
from spaced.engine.exports.redacting import UNREDACTED, Redacting
from spaced.errors import InvalidTimestamp
from spaced.log.record import RecordedEvent

_TIMES: Final = ("created_at", "updated_at", "asked_at", "started_at", "ended_at")
_IN_PIECES: Final = {
    cls.kind
    for cls in (AgentItemAppended, AgentItemUpserted, AgentItemUpdated, AgentItemTextAppended)
}
_TOLD_WHOLE: Final = {cls.kind for cls in EVENTS} - _IN_PIECES
"""Kinds whose texts are whole in each event; of a kind that is not known nobody can say so."""

# The last one: what nests too deeply for whoever looks at it.
_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@dataclass(slots=True, kw_only=True)
class Encoded:
    """Values of an array, and what was met on the way.

    Attributes:
        blobs: the media types of blobs that were named, by their ids.
        problems: sentences on what could not be encoded.
    """

    values: list[bytes] = field(default_factory=list)
    blobs: dict[str, str | None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def fields_of(state: object) -> dict[str, Any]:
    """Return a state of the domain as JSON values, its times as RFC 3339."""
    found: dict[str, Any] = msgspec.to_builtins(state)
    times = {k: time_text(v) for k in _TIMES if isinstance(v := found.get(k), int)}
    return found | times


def time_text(moment: int) -> str | int:
    """Return a time as RFC 3339; one that has no such form stays a number of milliseconds."""
    try:
        return to_rfc3339(Timestamp(moment))
    except InvalidTimestamp:
        return moment


class Encoder:
    """Encodes what an export holds.

    Attributes:
        hides: whether secrets are hidden.
    """

    def __init__(self, redactor: Redacting) -> None:
        self.hides = redactor is not UNREDACTED
        self._redactor = redactor

    def value(self, value: object) -> bytes:
        """Encode a JSON value."""
        return msgspec.json.encode(self._redactor.value(value))

    def states(self, states: Iterable[object]) -> Encoded:
        """Encode states of the domain."""
        return Encoded(values=[self.value(fields_of(state)) for state in states])

    def items(self, items: Iterable[ToldItem]) -> Encoded:
        """Fold and encode items; one that is damaged is a problem."""
        encoded = Encoded()
        for told in items:
            item, problem = told.fold_or_problem()
            if item is None:
                encoded.problems.append(problem)
            else:
                encoded.values.append(self.value(item))
        return encoded

    def events(self, events: Iterable[RecordedEvent]) -> Encoded:
        """Encode events; a body that is no JSON is a problem, and there all the same."""
        encoded = Encoded()
        for event in events:
            fields = {
                "stream": event.stream,
                "version": event.version,
                "position": event.position,
                "kind": event.kind,
                "session_id": event.session_id,
                "item_id": event.item_id,
                "created_at": time_text(event.created_at),
                "recorded_at": time_text(event.recorded_at),
            }
            encoded.values.append(self.value(fields)[:-1] + self._body(event, encoded) + b"}")
        return encoded

    def content(self, content: bytes) -> bytes:
        """Return the content of a blob; only text can have its secrets hidden."""
        if not self.hides:
            return content
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return content
        try:
            return self._unless_same(content, msgspec.json.decode(content))
        except _UNREADABLE:
            return self._redactor.text(text).encode()

    def _body(self, event: RecordedEvent, encoded: Encoded) -> bytes:
        is_withheld = self.hides and event.kind.partition(".")[0] not in _TOLD_WHOLE
        try:
            body = msgspec.json.decode(event.body)
            for blob_id, mime in blobs_in(body):
                encoded.blobs[blob_id] = mime or encoded.blobs.get(blob_id)
            if is_withheld:
                return b',"body":null,"withheld":true'
            return b',"body":' + self._unless_same(event.body, body)
        except _UNREADABLE as error:
            place = f"{event.stream!r} at version {event.version}"
            encoded.problems.append(f"the body of {place} is no JSON that can be read: {error}")
            shown = b"" if is_withheld else self._broken(event.body)
            return b',"body_base64":"' + base64.b64encode(shown) + b'"'

    def _broken(self, body: bytes) -> bytes:
        text = self._redactor.text(body.decode(errors="surrogateescape"))
        return text.encode(errors="surrogateescape")

    def _unless_same(self, stored: bytes, value: object) -> bytes:
        """Encode a JSON value, or return the bytes that it came from if nothing is hidden in it."""
        shown = self._redactor.value(value)
        return stored if shown == value else msgspec.json.encode(shown)
