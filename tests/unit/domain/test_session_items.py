"""Items: their ids, when they are complete, and under which words they are found."""

from collections.abc import Mapping

import pytest

from spaced.domain.session_items import (
    COMMON_FIELDS,
    ITEM_TYPES,
    TYPE_FIELDS,
    is_open,
    item_id_of,
    searched_text,
)
from spaced.errors import CorruptStream


def test_the_id_of_an_item_is_its_string_under_id() -> None:
    """Any string will do."""
    assert item_id_of({"id": "itm_1", "type": "message"}) == "itm_1"


@pytest.mark.parametrize("item", [{}, {"id": None}, {"id": 1}, {"id": b"a"}, {"ID": "a"}], ids=repr)
def test_an_item_without_a_string_id_is_refused(item: Mapping[str, object]) -> None:
    """The message shows what was there instead."""
    with pytest.raises(CorruptStream, match="no string id"):
        item_id_of(item)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"stream_status": "streaming"}, True),
        ({"stream_status": "complete"}, False),
        ({"stream_status": "interrupted"}, False),
        ({"status": "pending"}, True),
        ({"status": "running"}, True),
        ({"status": "completed"}, False),
        ({"status": "failed"}, False),
        ({"status": "interrupted"}, False),
        ({"status": "odd"}, False),
        ({"status": None, "stream_status": None}, False),
        ({"status": ["running"], "stream_status": 1}, False),
        ({}, False),
    ],
    ids=repr,
)
def test_an_item_is_open_while_more_of_it_is_to_come(
    fields: Mapping[str, object], expected: bool
) -> None:
    """A plain item and one with an odd word are complete: they must be found by search."""
    assert is_open({"id": "a", **fields}) is expected


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"content": "hello"}, "hello"),
        ({"title": "Read", "output": "lines", "arguments": "{}"}, "Read\nlines\n{}"),
        ({"error": "It broke.", "code": "hidden"}, "It broke."),
        ({"event": "compaction", "details": {"content": "no"}}, "compaction"),
        ({"content": ""}, ""),
        ({"content": None, "output": 5, "title": ["x"]}, ""),
        ({"id": "itm", "type": "message", "model": "m"}, ""),
        ({}, ""),
    ],
    ids=repr,
)
def test_an_item_is_found_by_its_texts(item: Mapping[str, object], text: str) -> None:
    """What people read is searched; ids, types and objects are not."""
    assert searched_text(item) == text


def test_the_types_are_the_agreed_ones() -> None:
    """Clients draw each of them."""
    assert set(ITEM_TYPES) == {
        *("message", "reasoning", "tool-call", "tool-result", "plan", "event", "error")
    }


def test_every_type_has_its_fields_and_none_repeats_a_common_one() -> None:
    """The page of events shows the two tables beside each other."""
    assert set(TYPE_FIELDS) == set(ITEM_TYPES)
    assert all(fields and not set(fields) & set(COMMON_FIELDS) for fields in TYPE_FIELDS.values())
