"""Items: their ids, when they are complete, and under which words they are found."""

from collections.abc import Mapping

import pytest

from spaced.domain.session_items import (
    COMMON_FIELDS,
    ITEM_TYPES,
    TYPE_FIELDS,
    closing_fields,
    interrupted_result,
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


@pytest.mark.parametrize("is_completed", [True, False])
@pytest.mark.parametrize(
    "fields",
    [
        {"type": "message", "stream_status": "streaming"},
        {"type": "message", "status": "running"},
        {"type": "tool-call", "status": "pending"},
        {"type": "tool-call", "status": "running", "stream_status": "streaming"},
        {"type": "tool-call", "status": "failed", "stream_status": "streaming"},
    ],
    ids=repr,
)
def test_an_item_that_is_closed_by_us_is_open_no_more(
    fields: dict[str, object], is_completed: bool
) -> None:
    """Whichever of its fields said that more is to come; what ended before keeps its word."""
    closing = closing_fields(fields, is_completed=is_completed)
    after = {**fields, **closing}

    assert not is_open(after)
    assert set(closing.values()) <= ({"complete", "completed"} if is_completed else {"interrupted"})
    assert fields.get("status") != "failed" or after["status"] == "failed"


def test_an_interrupted_result_names_its_call() -> None:
    """And what else of the call is known: the tool's name and the turn."""
    call = {"call_id": "c", "name": "ls", "turn_id": "turn", "status": "running"}
    result = {
        "type": "tool-result",
        "call_id": "c",
        "output": "interrupted before it had a result",
        "is_error": True,
        "created_at": "now",
    }

    assert interrupted_result(call, "now") == {**result, "name": "ls", "turn_id": "turn"}
    assert interrupted_result({"call_id": "c", "name": None}, "now") == result


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
