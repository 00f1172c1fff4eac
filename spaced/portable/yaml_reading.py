"""Reads YAML 1.2 into plain values with their places, within bounds.

The library's events are composed here and not by the library: so size, depth and aliases are
bounded while the text is read, and every key keeps its place. Nothing is walked before that.
"""

import codecs
from collections.abc import Iterator
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.reader import ReaderError

from spaced.portable.findings import Unreadable, unreadable
from spaced.portable.limits import DEEPEST, LARGEST, MOST_NODES
from spaced.portable.scalars import core_kind, kind_of, value_of, whole_text
from spaced.portable.tree import START, Node, Place

# What the library lets escape besides its own errors when a text is odd enough.
_FAULTS: Final = (
    *(YAMLError, ValueError, OverflowError, LookupError, AttributeError, TypeError),
    *(AssertionError, RecursionError, NotImplementedError),
)


def read_yaml(content: bytes) -> Node:
    """Return what a document says.

    Raises:
        Unreadable: it is no YAML, goes beyond a bound, or holds what JSON cannot.
    """
    text = decoded(content)
    composer = _Composer()
    try:
        return composer.document(YAML(typ="safe", pure=True).parse(text))
    except Unreadable:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = composer.place if mark is None else Place(mark.line + 1, mark.column + 1)
        raise _not_yaml(place, error.problem or error.context or "it cannot be read") from None
    except ReaderError as error:
        place = _place_in(text, error.position)
        raise _not_yaml(place, "there is a character that YAML does not allow") from None
    except _FAULTS as error:
        raise _not_yaml(composer.place, f"it cannot be read ({type(error).__name__})") from None


def decoded(content: bytes) -> str:
    """Return the text of a document.

    Raises:
        Unreadable: it is too large, or not UTF-8.
    """
    if len(content) > LARGEST:
        raise unreadable(
            START,
            "too-large",
            f"it has {len(content)} bytes, which is more than {LARGEST}",
            "split it into several files",
        )
    try:
        text = content.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        place = _place_in(content[: error.start].decode(errors="replace"), error.start)
        raise unreadable(place, "not-utf-8", "it is not UTF-8", "save it as UTF-8") from None
    if "\0" in text:
        place = _place_in(text, text.index("\0"))
        raise unreadable(place, "not-yaml", "there is a NUL in it", "remove it")
    return text


def _place_in(text: str, position: int) -> Place:
    before = text[:position]
    return Place(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


def _not_yaml(place: Place, problem: str) -> Unreadable:
    return unreadable(place, "not-yaml", f"it is no YAML: {problem}", "correct the text there")


class _Composer:
    """Builds values from events, and counts while it does.

    Attributes:
        place: where it is, for errors that do not say it.
    """

    def __init__(self) -> None:
        self.place = START
        self._anchors: dict[str, Node | None] = {}
        self._size = 0

    def document(self, events: Iterator[Any]) -> Node:
        """Return the one document of a stream; an empty stream is null."""
        root: Node | None = None
        for event in events:
            self._note(event)
            if isinstance(event, DocumentStartEvent):
                if root is not None:
                    raise unreadable(
                        self.place,
                        "several-documents",
                        "a second document begins here",
                        "keep one document in a file; it may hold many workflows",
                    )
                self._anchors = {}
                root = self._node(next(events), events, 0)
            elif isinstance(event, StreamEndEvent):
                break
        return root or Node(None, START)

    def _note(self, event: Any) -> None:
        mark = event.start_mark
        self.place = Place(mark.line + 1, mark.column + 1)

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        self._note(event)
        if isinstance(event, AliasEvent):
            return self._aliased(event, depth)
        self._count(1)
        if event.anchor is not None:
            self._anchors[event.anchor] = None  # until it is whole, nothing may refer to it
        node = self._new(event, events, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _new(self, event: NodeEvent, events: Iterator[Any], depth: int) -> Node:
        if isinstance(event, ScalarEvent):
            return self._scalar(event)
        if depth >= DEEPEST:
            raise _too_deep(self.place)
        tag = getattr(event, "tag", None)
        if tag is not None and core_kind(str(tag), self.place) not in ("map", "seq", "str"):
            raise unreadable(self.place, "foreign-tag", f"{tag} is no such thing", "remove the tag")
        if isinstance(event, SequenceStartEvent):
            return self._sequence(events, depth, self.place)
        if isinstance(event, MappingStartEvent):
            return self._mapping(events, depth, self.place)
        raise _not_yaml(self.place, "something else is expected here")

    def _scalar(self, event: ScalarEvent) -> Node:
        place, text = self.place, str(event.value)
        if event.tag is not None:
            return Node(value_of(text, core_kind(str(event.tag), place), place), place)
        is_plain = event.style is None and event.implicit[0]
        if is_plain:
            return Node(value_of(text, kind_of(text), place), place)
        return Node(whole_text(text, place), place)

    def _aliased(self, event: AliasEvent, depth: int) -> Node:
        place = self.place
        if event.anchor not in self._anchors:
            raise _not_yaml(place, f"nothing is called &{event.anchor}")
        node = self._anchors[event.anchor]
        if node is None:
            raise unreadable(
                place,
                "cyclic-alias",
                f"*{event.anchor} stands inside of what it refers to",
                "write the value out",
            )
        self._count(node.size)
        if depth + node.height > DEEPEST:
            raise _too_deep(place)
        return node

    def _sequence(self, events: Iterator[Any], depth: int, place: Place) -> Node:
        children: dict[str | int, tuple[Place, Node]] = {}
        for event in events:
            self._note(event)
            if isinstance(event, CollectionEndEvent):
                break
            at = self.place
            children[len(children)] = (at, self._node(event, events, depth + 1))
        return _collection([node.value for _, node in children.values()], place, children)

    def _mapping(self, events: Iterator[Any], depth: int, place: Place) -> Node:
        children: dict[str | int, tuple[Place, Node]] = {}
        merged: list[Node] = []
        for event in events:
            self._note(event)
            if isinstance(event, CollectionEndEvent):
                break
            at = self.place
            is_merge = _is_merge(event)
            key = self._node(event, events, depth + 1).value
            value = self._node(next(events), events, depth + 1)
            if is_merge:
                merged.extend(_to_merge(value, at))
            else:
                children[self._key(key, at, children)] = (at, value)
        for node in merged:
            children = {**node.children, **children}
        values = {name: node.value for name, (_, node) in children.items()}
        return _collection(values, place, children)

    def _key(self, key: object, at: Place, taken: dict[str | int, tuple[Place, Node]]) -> str:
        if not isinstance(key, str):
            raise unreadable(
                at, "bad-key", f"the key {key!r} is no text", "put it in quotes, or correct it"
            )
        if key in taken:
            line = taken[key][0].line
            raise unreadable(
                at,
                "duplicate-key",
                f"the key {key[:80]!r} stands in line {line} already",
                "keep one of them",
            )
        return key

    def _count(self, more: int) -> None:
        self._size += more
        if self._size > MOST_NODES:
            raise unreadable(
                self.place,
                "too-many-values",
                f"up to here it has more than {MOST_NODES} values, with aliases written out",
                "split it into several files, or use fewer aliases",
            )


def _collection(value: object, place: Place, children: dict[str | int, tuple[Place, Node]]) -> Node:
    nodes = [node for _, node in children.values()]
    size = 1 + sum(node.size + 1 for node in nodes)
    return Node(value, place, children, size, 1 + max((node.height for node in nodes), default=0))


def _is_merge(event: Any) -> bool:
    is_plain = isinstance(event, ScalarEvent) and event.style is None and event.tag is None
    return is_plain and event.value == "<<"


def _to_merge(node: Node, at: Place) -> list[Node]:
    """Return the objects whose keys a merge key brings in, the strongest first."""
    nodes = [node]
    if isinstance(node.value, list):
        nodes = [child for _, child in node.children.values()]
    if not all(isinstance(one.value, dict) for one in nodes):
        raise _not_yaml(at, "`<<` merges objects, and this is none")
    return nodes


def _too_deep(place: Place) -> Unreadable:
    return unreadable(
        place, "too-deep", f"it nests deeper than {DEEPEST} levels", "nest less deeply"
    )
