"""The fold of items: order, replacement, merging, and what is refused."""

from collections.abc import Mapping
from typing import Any

import pytest

from spaced.domain.events.event import Event
from spaced.domain.events.session import SessionReset
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentSessionCreated,
    AgentSessionDataUpdated,
    AgentStatusChanged,
)
from spaced.domain.transcript import Transcript, begins_item
from spaced.errors import CorruptStream


def _item(item_id: str, **fields: object) -> dict[str, Any]:
    return {"id": item_id, "type": "message", **fields}


def _append(item_id: str, **fields: object) -> AgentItemAppended:
    return AgentItemAppended(item=_item(item_id, **fields))


def _upsert(item_id: str, **fields: object) -> AgentItemUpserted:
    return AgentItemUpserted(item=_item(item_id, **fields))


def _update(item_id: str, **updates: object) -> AgentItemUpdated:
    return AgentItemUpdated(item_id=item_id, updates=updates)


def _text(item_id: str, offset: int, text: str, field: str = "content") -> AgentItemTextAppended:
    return AgentItemTextAppended(item_id=item_id, field=field, offset=offset, text=text)


def _fold(*events: Event) -> Transcript:
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    return transcript


def _ids(transcript: Transcript) -> list[object]:
    return [item["id"] for item in transcript.items()]


def test_items_keep_the_order_in_which_they_were_appended() -> None:
    """Ids and times order nothing."""
    transcript = _fold(_append("b", created_at="2"), _append("c"), _append("a", created_at="1"))

    assert _ids(transcript) == ["b", "c", "a"]
    assert len(transcript) == 3


def test_an_item_cannot_be_appended_twice() -> None:
    """A repeated append would hide that the writer lost count."""
    transcript = _fold(_append("a", content="first"))

    with pytest.raises(CorruptStream, match="'a' is appended twice"):
        transcript.apply(_append("a", content="second"))

    assert transcript.items() == [_item("a", content="first")]


def test_an_item_that_was_upserted_cannot_be_appended() -> None:
    """It exists, however it began."""
    with pytest.raises(CorruptStream):
        _fold(_upsert("a"), _append("a"))


def test_an_upsert_replaces_the_item_where_it_stands() -> None:
    """The place stays; fields that the new item does not name are gone."""
    transcript = _fold(_append("a", content="x", usage={"n": 1}), _append("b"), _upsert("a", c=2))

    assert transcript.items() == [_item("a", c=2), _item("b")]


def test_an_upsert_of_a_new_item_appends_it() -> None:
    """A producer need not know whether the item was sent before."""
    assert _ids(_fold(_append("a"), _upsert("b"), _append("c"))) == ["a", "b", "c"]


def test_an_update_merges_fields_and_keeps_the_others() -> None:
    """Each named field has the new value, in the order in which updates come."""
    transcript = _fold(
        _append("a", status="pending", name="x"), _update("a", status="done"), _update("a", n=None)
    )

    assert transcript.items() == [_item("a", status="done", name="x", n=None)]


def test_an_update_replaces_nested_objects_as_a_whole() -> None:
    """The merge is shallow: what an object held before is gone."""
    transcript = _fold(_append("a", usage={"in": 1, "out": 2}), _update("a", usage={"in": 3}))

    assert transcript.items() == [_item("a", usage={"in": 3})]


def test_an_update_may_change_the_type() -> None:
    """Items are open objects; only their id is fixed."""
    assert _fold(_append("a"), _update("a", type="reasoning")).items()[0]["type"] == "reasoning"


@pytest.mark.parametrize("stolen", ["b", None, 7, {"id": "a"}])
def test_an_update_cannot_change_the_id_of_an_item(stolen: object) -> None:
    """Otherwise one item could take over the place and the future of another."""
    transcript = _fold(_append("a"), _append("b"), _update("a", id=stolen, content="x"))

    assert transcript.items() == [_item("a", content="x"), _item("b")]


@pytest.mark.parametrize("event", [_update("a", x=1), _text("a", 0, "x")])
def test_a_missing_item_cannot_be_changed(event: Event) -> None:
    """Nothing comes into being by a change."""
    transcript = Transcript()

    with pytest.raises(CorruptStream, match="'a' is changed but does not exist"):
        transcript.apply(event)

    assert transcript.items() == []


@pytest.mark.parametrize(
    "item",
    [{}, {"id": None}, {"id": 7}, {"id": ["a"]}, {"id": True}, {"type": "message"}],
    ids=repr,
)
def test_an_item_needs_a_string_as_its_id(item: Mapping[str, object]) -> None:
    """Appended or upserted, an item that cannot be named is refused."""
    for event in (AgentItemAppended(item=item), AgentItemUpserted(item=item)):
        transcript = Transcript()
        with pytest.raises(CorruptStream, match="no string id"):
            transcript.apply(event)
        assert len(transcript) == 0


def test_any_string_is_an_id_also_an_empty_one() -> None:
    """Items of migrated chats keep the ids that they had."""
    assert _ids(_fold(_append(""), _append(" "), _append("ä\x00"))) == ["", " ", "ä\x00"]


def test_an_item_needs_no_type() -> None:
    """Only the id is looked at; clients skip types that they do not know."""
    assert _fold(AgentItemAppended(item={"id": "a"})).items() == [{"id": "a"}]


@pytest.mark.parametrize(
    "event",
    [
        AgentSessionCreated(data={"items": [{"id": "x"}]}),
        AgentStatusChanged(status="running", data={"id": "x"}),
        AgentSessionDataUpdated(data={"items": []}),
        SessionReset(generation=2, reason="person"),
    ],
    ids=lambda event: event.kind,
)
def test_events_about_other_things_leave_the_items_alone(event: Event) -> None:
    """Not even a new provider conversation touches what was said."""
    assert _fold(_append("a"), event).items() == [_item("a")]


def test_only_whole_items_can_be_the_beginning_of_one() -> None:
    """This tells a reader which events need nothing before them."""
    assert begins_item(_append("a"))
    assert begins_item(_upsert("a"))
    assert not begins_item(_update("a"))
    assert not begins_item(_text("a", 0, ""))


@pytest.mark.parametrize(
    ("stored", "offset", "text", "whole", "misplaced"),
    [
        ("", 0, "hello", "hello", 0),
        ("hel", 3, "lo", "hello", 0),
        ("hel", 3, "", "hel", 0),
        ("é\U0001f600", 2, "!", "é\U0001f600!", 0),  # code points, neither bytes nor UTF-16
        ("hel", 1, "ello", "hello", 1),  # overlapping: only what is new is taken
        ("hello", 0, "hello", "hello", 1),  # the same piece again
        ("hello", 0, "hel", "hello", 1),  # less than what is there
        ("hel", 9, "lo", "hello", 1),  # a gap: what came is kept
        ("", 5, "lo", "lo", 1),
    ],
)
def test_text_is_appended_at_its_offset(
    stored: str, offset: int, text: str, whole: str, misplaced: int
) -> None:
    """A wrong offset is a fault of ours: it is counted and never costs the session."""
    transcript = _fold(_append("a", content=stored), _text("a", offset, text))

    assert transcript.items() == [_item("a", content=whole)]
    assert transcript.misplaced_texts == misplaced


@pytest.mark.parametrize("offset", [-(10**30), -5, -1, 10**30])
def test_no_offset_raises(offset: int) -> None:
    """However absurd the number is, the session goes on and the fault is counted."""
    transcript = _fold(_append("a", content="hel"), _text("a", offset, "lo"))

    assert str(transcript.items()[0]["content"]).startswith("hel")
    assert transcript.misplaced_texts == 1


@pytest.mark.parametrize("absent", [{}, {"output": None}, {"output": 5}, {"output": ["x"]}])
def test_text_grows_any_field_from_nothing(absent: dict[str, object]) -> None:
    """A field that holds no text yet begins with the first piece."""
    transcript = _fold(_append("a", **absent), _text("a", 0, "line", "output"))

    assert transcript.items() == [_item("a", output="line")]
    assert transcript.misplaced_texts == 0


def test_pieces_of_text_follow_each_other() -> None:
    """A long answer is the sum of its pieces, also when other items come in between."""
    events = (
        _append("a"),
        _text("a", 0, "x"),
        _append("b"),
        _text("a", 1, "y"),
        _text("b", 0, "z"),
    )

    assert [item["content"] for item in _fold(*events).items()] == ["xy", "z"]


def test_one_item_is_found_by_its_id() -> None:
    """The fold that only needs one item does not copy them all."""
    transcript = _fold(_append("a"), _append("b", n=1))

    assert transcript.item("b") == _item("b", n=1)
    assert transcript.item("c") is None
    assert "a" in transcript
    assert "c" not in transcript


@pytest.mark.parametrize("cls", [AgentItemAppended, AgentItemUpserted])
def test_changing_a_payload_afterwards_changes_no_item(
    cls: type[AgentItemAppended] | type[AgentItemUpserted],
) -> None:
    """What a producer still holds is not what was recorded."""
    payload = _item("a", usage={"n": [1]})
    transcript = _fold(cls(item=payload))

    payload["usage"]["n"].append(2)
    payload["content"] = "changed"

    assert transcript.items() == [_item("a", usage={"n": [1]})]


def test_changing_the_updates_afterwards_changes_no_item() -> None:
    """The same for what was merged."""
    updates: dict[str, Any] = {"usage": {"n": [1]}}
    transcript = _fold(_append("a"), AgentItemUpdated(item_id="a", updates=updates))

    updates["usage"]["n"].append(2)

    assert transcript.items() == [_item("a", usage={"n": [1]})]


def test_folding_never_changes_an_event() -> None:
    """Later events change the fold's own copy of an item, not the payload that began it."""
    first = _append("a", usage={"n": 1}, content="x")
    _fold(first, _update("a", usage=2), _text("a", 1, "y"))

    assert first.item == _item("a", usage={"n": 1}, content="x")


def test_changing_a_projection_does_not_reach_the_next_one() -> None:
    """Each caller gets items of its own."""
    transcript = _fold(_append("a", usage={"n": [1]}))
    earlier: list[dict[str, Any]] = transcript.items()

    earlier[0]["usage"]["n"].append(2)
    earlier[0]["id"] = "stolen"
    earlier.clear()

    assert transcript.items() == [_item("a", usage={"n": [1]})]


def test_an_earlier_projection_does_not_move_with_later_events() -> None:
    """A page that was handed out stays what it was."""
    transcript = _fold(_append("a", content="x"))
    earlier = transcript.items()

    transcript.apply(_update("a", content="y"))
    transcript.apply(_append("b"))

    assert earlier == [_item("a", content="x")]
