"""Strategies that make any event of any kind from the type hints of its class."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st

from spaced.domain.events.event import Event

LAW: Final = settings(deadline=None, derandomize=True, max_examples=30)
"""For laws that cost little: the same examples on every machine, and no limit of time."""

TEXTS: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
INTEGERS: Final = st.integers(min_value=-(2**80), max_value=2**80)
_ATOMS: Final = (
    st.none()
    | st.booleans()
    | INTEGERS
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | st.just("\x00 and \u2028")
)
JSON_VALUES: Final[st.SearchStrategy[Any]] = st.recursive(
    _ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
JSON_OBJECTS: Final[st.SearchStrategy[dict[str, Any]]] = st.dictionaries(
    TEXTS, JSON_VALUES, max_size=4
)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for the values that a type hint of the domain allows."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(values_of, arguments))
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin is Mapping and arguments != (str, object):
        key, value = arguments
        return st.dictionaries(values_of(key), values_of(value), max_size=2)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        fields = {name: values_of(part) for name, part in typing.get_type_hints(hint).items()}
        return st.builds(hint, **fields)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        str: TEXTS,
        int: INTEGERS,
        bool: st.booleans(),
        types.NoneType: st.none(),
    }
    return JSON_OBJECTS if origin is Mapping else simple[hint]


def events_of_class(cls: type[Event]) -> st.SearchStrategy[Event]:
    """Return a strategy for the events of one kind."""
    hints = typing.get_type_hints(cls)
    fields = {name: values_of(hints[name]) for name in field_names(cls)}
    return st.builds(cls, **fields)


def field_names(cls: type[Event]) -> list[str]:
    """Return the names of an event's fields."""
    return [field.name for field in fields_of(cls)]


def fields_of(cls: type[Event]) -> tuple["dataclasses.Field[Any]", ...]:
    """Return an event's fields."""
    return dataclasses.fields(typing.cast("Any", cls))
