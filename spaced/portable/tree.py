"""A document as plain values, together with where each of them stands in its text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""The keys and places in lists that lead from the document to a value."""


class Place(NamedTuple):
    """A place in a text; both numbers count from 1."""

    line: int
    column: int


START = Place(1, 1)


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands.

    Attributes:
        value: what JSON can hold: objects, lists, texts, numbers, booleans, null.
        place: of the value itself: an object's first key, or its brace.
        children: for each key of an object, or place in a list, where it stands and what is there.
        size: how many values it is when everything that is referred to is written out.
        height: how many levels of objects and lists it is.
    """

    value: object
    place: Place
    children: Mapping[str | int, tuple[Place, "Node"]] = field(default_factory=dict)
    size: int = 1
    height: int = 0

    def place_of(self, path: Sequence[str | int]) -> Place:
        """Return where the last part of a path stands; of what is absent, where it would be."""
        node, place = self, self.place
        for part in path:
            found = node.children.get(part)
            if found is None:
                break
            place, node = found
        return place
