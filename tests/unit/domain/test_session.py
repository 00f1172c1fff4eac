"""The fold of a session: status, data, times, configuration."""

from typing import Any

import pytest

from spaced.domain.events.catalogue import EVENTS
from spaced.domain.events.event import Event
from spaced.domain.events.prompt import PromptAdmitted, QueuePaused, QueueResumed
from spaced.domain.events.run import RunCreated, RunUpdated
from spaced.domain.events.session import (
    SessionConfigured,
    SessionDeleted,
    SessionMadePrimary,
    SessionParked,
    SessionReset,
)
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemTextAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentSessionCreated,
    AgentSessionDataUpdated,
    AgentStatusChanged,
)
from spaced.domain.events.turn import TurnEnded
from spaced.domain.session import Session, apply_to_session, seed

SIX: tuple[Event, ...] = (
    AgentSessionCreated(data={}),
    AgentStatusChanged(status="running"),
    AgentItemAppended(item={"id": "a"}),
    AgentItemUpserted(item={"id": "a"}),
    AgentItemUpdated(item_id="a", updates={}),
    AgentSessionDataUpdated(data={}),
)


def _session(**fields: Any) -> Session:
    given: dict[str, Any] = {"status": "idle", "created_at": 5, "agent_id": "prof", **fields}
    return Session(id="ses", run_id="run", **given)


def _fold(*events: Event, session: Session | None = None, at: int = 10) -> Session:
    state = session or _session()
    for place, event in enumerate(events):
        state = apply_to_session(state, event, created_at=at + place)
    return state


@pytest.mark.parametrize("event", SIX, ids=lambda event: event.kind)
@pytest.mark.parametrize("moment", [-7, 0, 1, 10**15])
def test_the_six_kinds_set_the_time_of_the_last_change(event: Event, moment: int) -> None:
    """The last one in order counts, also when it happened earlier than the one before."""
    before = _session(updated_at=1000)

    assert apply_to_session(before, event, created_at=moment).updated_at == moment


@pytest.mark.parametrize(
    "event",
    [
        SessionConfigured(title="t", mode="m"),
        SessionReset(generation=2, reason="person"),
        SessionMadePrimary(),
        SessionParked(),
        SessionDeleted(),
        QueuePaused(reason="person"),
        QueueResumed(reason="person"),
        AgentItemTextAppended(item_id="a", field="content", offset=0, text="x"),
    ],
    ids=lambda event: event.kind,
)
def test_our_own_kinds_leave_the_time_of_the_last_change_alone(event: Event) -> None:
    """A list sorted by the last change does not jump because a session was parked."""
    before = _session(updated_at=1000)

    assert apply_to_session(before, event, created_at=9999).updated_at == 1000


@pytest.mark.parametrize(
    "event",
    [
        RunCreated(workflow_id="wf", workflow_version=1, context={"status": "failed"}),
        RunUpdated(title="t"),
        AgentItemTextAppended(item_id="a", field="content", offset=0, text="x"),
    ],
    ids=lambda event: event.kind,
)
def test_an_event_about_something_else_returns_the_session_itself(event: Event) -> None:
    """Nothing is copied and nothing moves."""
    before = _session()

    assert apply_to_session(before, event, created_at=10, is_new_item=True) is before


def test_every_kind_that_is_not_listed_here_moves_nothing() -> None:
    """What changes a session is a short list; a new kind does not join it by accident."""
    moving = {type(event) for event in SIX} | {
        *(SessionConfigured, SessionReset, SessionMadePrimary, SessionParked, SessionDeleted),
        *(QueuePaused, QueueResumed, PromptAdmitted, TurnEnded),
    }
    before = _session()

    for cls in set(EVENTS) - moving:
        assert apply_to_session(before, object.__new__(cls), created_at=10) is before


def test_the_last_status_wins() -> None:
    """Statuses follow each other, and no word is checked against a list."""
    events = [AgentStatusChanged(status=word) for word in ("running", "waiting-for-godot", "idle")]

    assert [_fold(*events[: n + 1]).status for n in range(3)] == [
        "running",
        "waiting-for-godot",
        "idle",
    ]


def test_data_beside_a_status_is_ignored() -> None:
    """It is kept in the log for whoever reads events."""
    changed = _fold(
        AgentStatusChanged(status="idle", data={"x": 1}), session=_session(data={"y": 2})
    )

    assert changed.data == {"y": 2}


@pytest.mark.parametrize(
    ("status", "is_terminal"),
    [
        ("idle", False),
        ("running", False),
        ("completed", True),
        ("failed", True),
        ("cancelled", True),
        ("Completed", False),
        ("", False),
        ("odd-migrated-word", False),
    ],
)
def test_three_statuses_are_terminal(status: str, is_terminal: bool) -> None:
    """Odd words of migrated sessions never lock a session."""
    assert _session(status=status).is_terminal is is_terminal


def test_a_terminal_status_is_no_wall_for_the_fold() -> None:
    """What was recorded is folded; whether it may happen was decided before."""
    assert (
        _fold(AgentStatusChanged(status="failed"), AgentStatusChanged(status="idle")).status
        == "idle"
    )


def test_data_is_replaced_as_a_whole() -> None:
    """It is no merge: keys that are not named are gone."""
    updated = _fold(AgentSessionDataUpdated(data={"b": 2}), session=_session(data={"a": {"x": 1}}))

    assert updated.data == {"b": 2}


def test_changing_the_data_afterwards_changes_no_session() -> None:
    """An agent goes on with its own object while the session keeps what was recorded."""
    payload: dict[str, Any] = {"continuity": {"ids": [1]}}
    updated = _fold(AgentSessionDataUpdated(data=payload))

    payload["continuity"]["ids"].append(2)

    assert updated.data == {"continuity": {"ids": [1]}}


@pytest.mark.parametrize("cls", [AgentItemAppended, AgentItemUpserted])
@pytest.mark.parametrize("is_new", [True, False])
def test_only_a_new_item_raises_the_count(cls: type[AgentItemAppended], is_new: bool) -> None:
    """An upsert that replaces leaves the count as it was; the caller knows which it is."""
    event = cls(item={"id": "a"})
    before = _session(item_count=3)

    after = apply_to_session(before, event, created_at=1, is_new_item=is_new)

    assert after.item_count == (4 if is_new else 3)


def test_configuring_changes_only_the_fields_that_are_named() -> None:
    """An absent field stays as it was, whatever came before."""
    first = SessionConfigured(title="T", mode="plan", model="m1", options={"a": 1})
    second = SessionConfigured(model="m2", permissions=({"tool_kind": "edit"},))
    third = SessionConfigured(profile_id="prof-2")

    after = _fold(first, second, third)

    assert (after.title, after.agent_id) == ("T", "prof-2")
    assert (after.configuration.mode, after.configuration.model) == ("plan", "m2")
    assert after.configuration.options == {"a": 1}
    assert after.configuration.permissions == ({"tool_kind": "edit"},)


def test_empty_values_are_values() -> None:
    """An empty text, object or list replaces what was there; only None leaves it."""
    before = _fold(
        SessionConfigured(title="T", mode="m", model="x", options={"a": 1}, permissions=({"b": 1},))
    )
    after = _fold(
        SessionConfigured(title="", mode="", model="", options={}, permissions=()), session=before
    )

    assert after.title == ""
    assert (after.configuration.mode, after.configuration.model) == ("", "")
    assert (after.configuration.options, after.configuration.permissions) == ({}, ())


def test_options_and_permissions_are_replaced_as_a_whole() -> None:
    """Two configurations are no merge of their options."""
    before = _fold(SessionConfigured(options={"a": 1}, permissions=({"x": 1}, {"y": 2})))
    after = _fold(SessionConfigured(options={"b": 2}, permissions=({"z": 3},)), session=before)

    assert after.configuration.options == {"b": 2}
    assert after.configuration.permissions == ({"z": 3},)


def test_changing_a_configuration_afterwards_changes_no_session() -> None:
    """Options and rules are copied like everything else that goes in."""
    options: dict[str, Any] = {"a": [1]}
    rule: dict[str, Any] = {"patterns": ["x"]}
    after = _fold(SessionConfigured(options=options, permissions=(rule,)))

    options["a"].append(2)
    rule["patterns"].append("y")

    assert after.configuration.options == {"a": [1]}
    assert after.configuration.permissions == ({"patterns": ["x"]},)


def test_a_reset_raises_the_generation_and_keeps_everything_else() -> None:
    """The provider's conversation is new, the session is not."""
    before = _session(data={"a": 1}, item_count=4, title="T")
    after = _fold(SessionReset(generation=2, reason="lost"), session=before)

    assert after.generation == 2
    assert (after.data, after.item_count, after.title) == ({"a": 1}, 4, "T")


def test_parking_is_no_status() -> None:
    """The session stays what it was; which one is primary says the run."""
    before = _session()

    assert _fold(SessionMadePrimary(), SessionParked(), session=before) == before


def test_a_deleted_session_is_marked() -> None:
    """It is hidden, and nothing else of it changes."""
    assert _fold(SessionDeleted()).is_deleted


def test_a_queue_is_paused_and_resumed() -> None:
    """The last one of both holds."""
    paused = _fold(QueuePaused(reason="interrupt"), QueuePaused(reason="person"))

    assert paused.is_queue_paused
    assert not _fold(QueueResumed(reason="prompt"), session=paused).is_queue_paused


def test_folding_never_changes_a_state_that_was_given_out() -> None:
    """Each step returns a value of its own."""
    before = _session(data={"a": 1}, metadata={"kind": "x"})
    _fold(*SIX, SessionConfigured(title="T", options={"o": 1}), session=before)

    assert before == _session(data={"a": 1}, metadata={"kind": "x"})


def test_a_new_session_is_seeded_before_any_event() -> None:
    """It has the ids of its run, no items, no time of change and the first generation."""
    start = seed("ses", "run", context={}, run_status="running", created_at=3)

    assert start == Session(id="ses", run_id="run", agent_id=None, status="running", created_at=3)
    assert (start.updated_at, start.item_count, start.generation) == (None, 0, 1)
