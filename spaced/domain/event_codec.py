"""Events to bodies and back: the contract of the stored form.

A body is one compact JSON object with exactly the fields of its kind; a field that is `None` is
left out, and reading treats an absent field and a null one alike. Stored bodies are never
rewritten. Adding an optional field needs nothing: old bodies lack it, and unknown fields are
ignored when reading. When a body changes so that old readers would misread it, the class's version
is raised, and the stored name of the kind carries it from 2 on (`turn-ended.2`), so that an old
reader sees an unknown kind instead of a wrong event. For each older version the codec then has a
function that lifts its body to the next one; tests/unit/domain/test_event_codec.py shows it.
"""

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Final, TypeAlias

import msgspec

from spaced.domain.events.catalogue import EVENTS
from spaced.domain.events.event import Event
from spaced.errors import InvalidBody

Lift: TypeAlias = Callable[[dict[str, object]], dict[str, object]]
_Reader: TypeAlias = Callable[[bytes], Event]

MAX_DEPTH: Final = 200
"""How deeply a body may nest: what is deeper could be stored, but no fold could copy it."""

# The last four are what a lift meets in a body that lacks a field or has one of another type.
_UNREADABLE: Final = (
    *(msgspec.MsgspecError, RecursionError),
    *(ValueError, TypeError, LookupError, AttributeError),
)


class EventCodec:
    """Writes and reads the events of some classes."""

    def __init__(
        self, classes: Iterable[type[Event]], lifts: Mapping[str, Lift] | None = None
    ) -> None:
        """Prepare readers for every version of every class.

        Args:
            classes: one class for each kind.
            lifts: by the stored name of an older version, what turns its body into the next one's.

        Raises:
            ValueError: a kind is declared twice, or a version cannot be lifted.
        """
        self._readers: dict[str, _Reader] = {}
        for cls in classes:
            self._add(cls, lifts or {})

    def _add(self, cls: type[Event], lifts: Mapping[str, Lift]) -> None:
        self._add_reader(stored_kind(cls), msgspec.json.Decoder(cls).decode)
        chain: tuple[Lift, ...] = ()
        for version in range(cls.version - 1, 0, -1):
            name = _name(cls.kind, version)
            if name not in lifts:
                raise ValueError(f"nothing lifts {name!r}")
            chain = (lifts[name], *chain)
            self._add_reader(name, _lifting(cls, chain))

    def _add_reader(self, name: str, reader: _Reader) -> None:
        if name in self._readers:
            raise ValueError(f"the kind {name!r} is declared twice")
        self._readers[name] = reader

    def encode(self, event: Event) -> bytes:
        """Return the body of an event.

        Raises:
            InvalidBody: it holds what JSON cannot, such as a lone surrogate or endless nesting.
        """
        try:
            fields = {k: v for k, v in msgspec.to_builtins(event).items() if v is not None}
            body = msgspec.json.encode(fields)
            # The encoder writes NaN and infinity as null; only a body with a null can hide one.
            if b"null" in body:
                _refuse_non_finite(fields)
            if _may_be_deep(body):
                _refuse_deep(fields)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            raise InvalidBody(f"a {event.kind!r} event cannot be stored: {error}") from error
        return body

    def decode(self, kind: str, body: bytes) -> Event | None:
        """Return the event that a body holds, or `None` for a kind that this version lacks.

        Raises:
            InvalidBody: the body does not have the shape of its kind.
        """
        reader = self._readers.get(kind)
        if reader is None:
            return None
        try:
            # Asked here too: how deep is too deep must not depend on the interpreter's own limit.
            if _may_be_deep(body):
                _refuse_deep(msgspec.json.decode(body))
            return reader(body)
        except _UNREADABLE as error:
            raise InvalidBody(f"a {kind!r} event cannot be read: {error}") from error


def stored_kind(cls: type[Event]) -> str:
    """Return the name under which events of a class are stored."""
    return _name(cls.kind, cls.version)


def _refuse_non_finite(value: object) -> None:
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{value} is not a number that JSON knows")
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            _refuse_non_finite(part)


def _may_be_deep(body: bytes) -> bool:
    """Tell cheaply whether a closer look is needed; brackets inside texts count here too."""
    return body.count(b"[") + body.count(b"{") > MAX_DEPTH


def _refuse_deep(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [part for outer in level for part in _parts_of(outer)]
        if not level:
            return
    raise ValueError(f"it nests deeper than {MAX_DEPTH} levels")


def _parts_of(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def _name(kind: str, version: int) -> str:
    return kind if version == 1 else f"{kind}.{version}"


def _lifting(cls: type[Event], chain: tuple[Lift, ...]) -> _Reader:
    def read(body: bytes) -> Event:
        fields = msgspec.json.decode(body, type=dict[str, object])
        for lift in chain:
            fields = lift(fields)
        return msgspec.convert(fields, cls)

    return read


CODEC: Final = EventCodec(EVENTS)
"""Reads and writes every event of this version."""
