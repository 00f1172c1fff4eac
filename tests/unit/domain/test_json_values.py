"""Copies of JSON: equal to what was copied, and sharing nothing that can change."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given

from spaced.domain.json_values import copy_json, copy_object
from tests.unit.domain.any_event import JSON_OBJECTS, JSON_VALUES, LAW


def _containers(value: Any) -> Iterator[int]:
    if isinstance(value, (dict, list)):
        yield id(value)
        for part in value.values() if isinstance(value, dict) else value:
            yield from _containers(part)


@LAW
@given(value=JSON_VALUES)
def test_a_copy_equals_what_was_copied_and_shares_nothing(value: Any) -> None:
    """The same values of the same types, and no list or object in common."""
    copied = copy_json(value)

    assert repr(copied) == repr(value)
    assert not set(_containers(copied)) & set(_containers(value))


@LAW
@given(value=JSON_OBJECTS)
def test_an_object_is_copied_like_any_value(value: dict[str, Any]) -> None:
    """The quick way for objects gives the same."""
    copied = copy_object(value)

    assert repr(copied) == repr(copy_json(value))
    assert not set(_containers(copied)) & set(_containers(value))


def test_a_part_that_is_used_twice_is_copied_twice() -> None:
    """JSON has no shared parts, so changing one place never changes another."""
    part = [1]
    copied: Any = copy_object({"a": part, "b": part})

    copied["a"].append(2)

    assert copied == {"a": [1, 2], "b": [1]}


@pytest.mark.parametrize(
    ("value", "copied"),
    [
        ((1, (2,)), [1, [2]]),
        (MappingProxyType({"a": (1,)}), {"a": [1]}),
        ({"a": ({},)}, {"a": [{}]}),
    ],
)
def test_tuples_and_read_only_objects_become_plain_json(value: Any, copied: object) -> None:
    """What reading the stored form would give."""
    assert repr(copy_json(value)) == repr(copied)


def test_what_is_no_json_is_left_to_the_encoder() -> None:
    """A copy never hides what cannot be stored."""
    strange = object()

    assert copy_json([strange]) == [strange]
