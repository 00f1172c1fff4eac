"""The stored form: what goes in comes out, and what JSON cannot hold never goes in."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.domain.event_codec import CODEC, stored_kind
from spaced.domain.events.catalogue import EVENTS
from spaced.domain.events.event import Event
from spaced.domain.events.handover import RoutePrepared
from spaced.domain.events.run import RunCreated, RunUpdated
from spaced.domain.events.sync_source import SyncOutcomeChanged
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentSessionDataUpdated,
    AgentStatusChanged,
)
from spaced.errors import InvalidBody
from tests.unit.domain.any_event import LAW, events_of_class, field_names

KIND = "agent-session-data-updated"


def _stored(value: object) -> bytes:
    return CODEC.encode(AgentSessionDataUpdated(data={"value": value}))


def _restored(value: object) -> object:
    event = CODEC.decode(KIND, _stored(value))
    assert isinstance(event, AgentSessionDataUpdated)
    return event.data["value"]


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.kind)
@LAW
@given(data=st.data())
def test_every_event_comes_back_as_it_was_stored(cls: type[Event], data: st.DataObject) -> None:
    """Writing and reading is the identity for every kind and every value of its fields."""
    event = data.draw(events_of_class(cls))
    body = CODEC.encode(event)

    restored = CODEC.decode(stored_kind(cls), body)

    assert restored == event
    assert type(restored) is cls
    assert CODEC.encode(restored) == body


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.kind)
@LAW
@given(data=st.data())
def test_a_body_has_exactly_the_fields_that_have_a_value(
    cls: type[Event], data: st.DataObject
) -> None:
    """A field that is None is left out, and nothing but fields is written."""
    event = data.draw(events_of_class(cls))

    body = msgspec.json.decode(CODEC.encode(event))

    assert set(body) == {n for n in field_names(cls) if getattr(event, n) is not None}


def test_a_body_is_compact() -> None:
    """No byte is spent on spaces, and fields stand in the order of the class."""
    event = AgentItemTextAppended(item_id="itm", field="content", offset=3, text="ä b")

    assert CODEC.encode(event) == (
        '{"item_id":"itm","field":"content","offset":3,"text":"ä b"}'.encode()
    )


def test_an_absent_optional_field_and_a_null_one_read_alike() -> None:
    """Other writers may spell out what they do not have."""
    absent = CODEC.decode("run-updated", b'{"title":"A"}')

    assert CODEC.decode("run-updated", b'{"title":"A","description":null}') == absent
    assert absent == RunUpdated(title="A")


def test_a_null_inside_of_an_open_object_is_kept() -> None:
    """Only the event's own fields are left out; what a client keeps in `data` is the client's."""
    assert _restored({"gone": None}) == {"gone": None}


def test_a_list_without_entries_needs_no_field() -> None:
    """An optional field that is no None has its default when an old body lacks it."""
    assert CODEC.decode("sync-outcome-changed", b'{"ok":true}') == SyncOutcomeChanged(ok=True)


def test_a_route_that_no_move_asked_for_can_be_read_again() -> None:
    """A hand-over at a step's own start has no move; leaving the field out must not lose it."""
    route = RoutePrepared(
        operation_id="op",
        entry_id="ent",
        to_step_id="step",
        to_session_id="ses",
        is_fresh=True,
        target="profile",
        start_policy="new",
        end_policy="park",
        workflow_version=1,
        source_workflow_version=1,
        move_id=None,
    )

    assert CODEC.decode("route-prepared", CODEC.encode(route)) == route


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.kind)
@LAW
@given(data=st.data())
def test_fields_of_a_newer_writer_are_ignored(cls: type[Event], data: st.DataObject) -> None:
    """An optional field can be added without a new version of the kind."""
    event = data.draw(events_of_class(cls))
    body = msgspec.json.decode(CODEC.encode(event))
    newer = msgspec.json.encode(body | {"a_field_of_tomorrow": [1, {"x": None}]})

    assert CODEC.decode(stored_kind(cls), newer) == event


@pytest.mark.parametrize("kind", ["session-levitated", "", "AGENT-STATUS-CHANGED", "run-created.1"])
def test_a_kind_that_nobody_knows_is_no_event(kind: str) -> None:
    """Readers skip it, whatever its body is, and do not even look inside."""
    assert CODEC.decode(kind, b"no JSON at all") is None


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("agent-status-changed", b"{}"),
        ("agent-status-changed", b'{"status":null}'),
        ("agent-status-changed", b'{"status":7}'),
        ("agent-status-changed", b'{"status":"idle","data":[]}'),
        ("agent-status-changed", b'["idle"]'),
        ("agent-status-changed", b"null"),
        ("agent-session-created", b'{"data":"text"}'),
        ("agent-session-data-updated", b'{"data":[]}'),
        ("agent-item-appended", b'{"item":"text"}'),
        ("agent-item-updated", b'{"item_id":5,"updates":{}}'),
        ("agent-item-updated", b'{"item_id":"itm","updates":[]}'),
        ("agent-item-text-appended", b'{"item_id":"i","field":"f","offset":"0","text":""}'),
        ("entry-settled", b'{"entry_id":"ent","outcome":"perhaps"}'),
        ("workflow-defined", b'{"workflow":{"steps":[]},"origin":{}}'),
    ],
)
def test_a_body_of_another_shape_is_refused(kind: str, body: bytes) -> None:
    """A missing field, a wrong type or a word outside of a closed list is a fault with a name."""
    with pytest.raises(InvalidBody, match=kind):
        CODEC.decode(kind, body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"data":{}',
        b'{"data":{}} {}',
        b'{"data":{"value":NaN}}',
        b'{"data":{"value":1e400}}',
        b'{"data":{"value":"\xff"}}',
        b'{"data":{"value":"\\ud800"}}',
        b'{"data":{"value":"\\udc00\\ud800"}}',
        b'{"data":' + b"[" * 100_000,
        b'{"data":{"value":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    ],
    ids=lambda body: repr(body[:40]),
)
def test_bytes_that_are_no_json_are_refused(body: bytes) -> None:
    """Whatever a damaged disk gives, reading it ends in the error for a damaged body."""
    with pytest.raises(InvalidBody):
        CODEC.decode(KIND, body)


def _endless() -> list[object]:
    loop: list[object] = []
    loop.append(loop)
    return loop


def _nested(depth: int) -> object:
    value: object = "core"
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


@pytest.mark.parametrize(
    "value",
    [
        "\ud800",
        "a\udfffb",
        {"\ud800": 1},
        float("nan"),
        float("inf"),
        -float("inf"),
        [1, {"deep": (float("nan"),)}],
        {"null": None, "number": float("inf")},
        _endless(),
        _nested(400),
        _nested(5000),
        object(),
        10**5000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_cannot_hold_is_never_stored(value: Any) -> None:
    """The encoder would write some of it as null, and lose it without a word."""
    with pytest.raises(InvalidBody):
        _stored(value)


@pytest.mark.parametrize(
    "value",
    [
        2**53 + 1,
        2**63,
        2**64,
        -(2**63) - 1,
        10**1000,
        5e-324,
        1.7976931348623157e308,
        -0.0,
        "\x00",
        "a\x00b\u2028c\u2029d\ufeff",
        "\U0001f600 \U0010ffff",
        '"quoted" \\ and \x7f',
        {"": "", "\x00": {"\u2028": []}},
        "null",
        [None, "NaN", "Infinity"],
    ],
    ids=lambda value: repr(value)[:20],
)
def test_odd_values_survive(value: Any) -> None:
    """Big numbers keep every digit, and no character is special."""
    assert repr(_restored(value)) == repr(value)


def test_nesting_as_deep_as_any_real_body_is_stored() -> None:
    """The bound on depth is far above what agents and people write."""
    assert _restored(_nested(150)) == _nested(150)


def test_many_brackets_side_by_side_are_no_depth() -> None:
    """The bound is on depth alone: a flat list may be long."""
    flat: list[object] = [[{}]] * 2000

    assert _restored(flat) == flat


@pytest.mark.parametrize(
    "event",
    [
        RunCreated(workflow_id="wf", workflow_version=1, context={"x": float("nan")}),
        AgentStatusChanged(status="\udcff"),
        AgentItemAppended(item={"id": "itm", "content": "\ud83d"}),
    ],
    ids=lambda event: event.kind,
)
def test_the_refusal_names_the_kind(event: Event) -> None:
    """The message says which fact could not be stored."""
    with pytest.raises(InvalidBody, match=event.kind):
        CODEC.encode(event)
