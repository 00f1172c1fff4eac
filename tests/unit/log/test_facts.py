"""Envelopes: what an event is about stands outside of its body."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.clock import Timestamp
from spaced.domain.events.ask import PermissionAsked
from spaced.domain.events.catalogue import EVENTS
from spaced.domain.events.event import Event
from spaced.domain.events.prompt import PromptPromoted
from spaced.domain.events.run import RunCompleted
from spaced.domain.events.session import SessionParked
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentStatusChanged,
)
from spaced.errors import InvalidBody
from spaced.log.fact import fact_of, new_event
from spaced.log.record import NewEvent, RecordedEvent
from tests.unit.domain.any_event import LAW, events_of_class

ASKED = PermissionAsked(ask_id="per", tool_kind="edit", tool_call={}, options=(), digest="")


def _record(new: NewEvent) -> RecordedEvent:
    return RecordedEvent(
        stream="run", version=3, position=9, recorded_at=8, **msgspec.structs.asdict(new)
    )


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.kind)
@LAW
@given(data=st.data())
def test_a_recorded_event_is_the_fact_that_was_stated(
    cls: type[Event], data: st.DataObject
) -> None:
    """Event, place, time and session come back for every kind."""
    event = data.draw(events_of_class(cls))
    session_id = "ses" if cls.is_of_session else None

    fact = fact_of(_record(new_event(event, created_at=Timestamp(7), session_id=session_id)))

    assert fact is not None
    assert fact.event == event
    assert (fact.stream, fact.version, fact.created_at) == ("run", 3, 7)
    assert fact.session_id == session_id


@pytest.mark.parametrize(
    ("event", "session_id"),
    [(AgentStatusChanged(status="idle"), None), (SessionParked(), None), (RunCompleted(), "ses")],
)
def test_an_event_names_a_session_if_and_only_if_it_is_about_one(
    event: Event, session_id: str | None
) -> None:
    """Otherwise a fact would be missed by whoever follows the session."""
    with pytest.raises(ValueError, match=event.kind):
        new_event(event, created_at=Timestamp(0), session_id=session_id)


@pytest.mark.parametrize(
    ("event", "item_id"),
    [
        (AgentItemAppended(item={"id": "a"}), "a"),
        (AgentItemUpserted(item={"id": "a"}), "a"),
        (AgentItemUpdated(item_id="a", updates={"id": "b"}), "a"),
        (AgentItemTextAppended(item_id="a", field="f", offset=0, text=""), "a"),
        (PromptPromoted(prompt_id="msg", turn_id="turn", item_id="a"), "a"),
        (AgentItemAppended(item={}), None),
        (AgentItemAppended(item={"id": 5}), None),
        (AgentItemAppended(item={"id": ""}), ""),
        (AgentStatusChanged(status="idle", data={"item": {"id": "x"}}), None),
        (ASKED, None),
    ],
)
def test_the_envelope_repeats_the_item_of_the_body(event: Event, item_id: str | None) -> None:
    """It is an index: the item's events are found by it."""
    assert new_event(event, created_at=Timestamp(0), session_id="ses").item_id == item_id


def test_an_event_that_cannot_be_stored_gets_no_envelope() -> None:
    """It is refused before anything is decided on it."""
    with pytest.raises(InvalidBody):
        new_event(AgentStatusChanged(status="\ud800"), created_at=Timestamp(0), session_id="s")


def test_an_unknown_kind_is_no_fact() -> None:
    """Whatever its body holds."""
    new = NewEvent(kind="tomorrow", body=b"?", created_at=Timestamp(0), session_id="ses")

    assert fact_of(_record(new)) is None
