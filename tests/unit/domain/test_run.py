"""The fold of a run: its status, its step entries and the session that answers for it."""

from typing import Any

import pytest

from spaced.domain.events.catalogue import EVENTS
from spaced.domain.events.event import Event, StreamFamily
from spaced.domain.events.handover import (
    ApprovalAsked,
    InitialSessionRecorded,
    StepSignalRecorded,
)
from spaced.domain.events.run import (
    EntrySettled,
    RunCancelled,
    RunCompleted,
    RunCreated,
    RunDeleted,
    RunReopened,
    RunUpdated,
    StepEntered,
    StepLeft,
    StepResumed,
    StepWaiting,
)
from spaced.domain.events.session import SessionDeleted, SessionMadePrimary, SessionParked
from spaced.domain.events.transcript import AgentItemAppended, AgentStatusChanged
from spaced.domain.problem import Problem
from spaced.domain.run import InitialSession, Run, apply_to_run, create_run

PROBLEM = Problem(code="broken", message="It broke.")


def _created(**fields: Any) -> RunCreated:
    return RunCreated(**{"workflow_id": "wf", "workflow_version": 3, "context": {}, **fields})


def _run(**fields: Any) -> Run:
    return create_run("run", _created(**fields), created_at=5)


def _fold(*events: Event, run: Run | None = None, session_id: str | None = None) -> Run:
    state = run or _run()
    for event in events:
        state = apply_to_run(state, event, session_id=session_id)
    return state


def _entered(entry_id: str = "ent-1", step_id: str = "step-1") -> StepEntered:
    return StepEntered(
        entry_id=entry_id, step_id=step_id, workflow_id="wf", workflow_version=4, cause="manual"
    )


def _waiting(entry_id: str = "ent-1") -> StepWaiting:
    return StepWaiting(entry_id=entry_id, wait_kind="signal")


def _failed(entry_id: str = "ent-1") -> EntrySettled:
    return EntrySettled(entry_id=entry_id, outcome="error", problem=PROBLEM)


def test_a_run_begins_with_what_created_it() -> None:
    """It has no entry and no session yet."""
    run = _run(title="T", description="D", directory="/d", context={"a": 1}, forked_from={"r": 1})

    assert run == Run(
        id="run",
        workflow_id="wf",
        workflow_version=3,
        created_at=5,
        title="T",
        description="D",
        directory="/d",
        context={"a": 1},
        forked_from={"r": 1},
    )
    assert (run.status, run.entry, run.primary_session_id) == ("created", None, None)


def test_changing_the_payload_afterwards_changes_no_run() -> None:
    """Context and origin are copied on their way in."""
    context: dict[str, Any] = {"deep": {"a": [1]}}
    origin: dict[str, Any] = {"run_id": ["old"]}
    run = _run(context=context, forked_from=origin)

    context["deep"]["a"].append(2)
    origin["run_id"].append("x")

    assert run.context == {"deep": {"a": [1]}}
    assert run.forked_from == {"run_id": ["old"]}


@pytest.mark.parametrize(
    ("context", "is_chat"),
    [
        ({"agent_session": True}, True),
        ({"agent_session": False}, False),
        ({"agent_session": 1}, False),
        ({"agent_session": "true"}, False),
        ({}, False),
    ],
)
def test_only_the_flag_makes_a_run_a_chat(context: dict[str, Any], is_chat: bool) -> None:
    """The value must be true itself; other values of the key mean nothing."""
    assert _run(context=context).is_chat is is_chat


@pytest.mark.parametrize(
    ("event", "status"),
    [
        (RunCompleted(), "completed"),
        (RunCompleted(entry_id="some-old-entry"), "completed"),
        (RunCancelled(reason="enough"), "cancelled"),
        (RunReopened(), "waiting"),
        (_entered(), "running"),
    ],
    ids=lambda value: getattr(value, "kind", value),
)
def test_facts_of_a_run_set_its_status(event: Event, status: str) -> None:
    """Whatever the status was before."""
    assert _fold(event).status == status
    assert _fold(RunCancelled(), event).status == status


def test_a_run_goes_from_step_to_step() -> None:
    """Each entry takes the place of the one before and pins its own workflow version."""
    run = _fold(_entered("ent-1"), StepLeft(entry_id="ent-1"), _entered("ent-2", "step-2"))

    assert run.entry is not None
    assert (run.entry.id, run.entry.step_id, run.entry.workflow_version) == ("ent-2", "step-2", 4)
    assert (run.entry.status, run.entry.is_settled, run.status) == ("running", False, "running")


def test_a_step_waits_and_is_resumed() -> None:
    """The run's status follows its entry's."""
    waiting = _fold(_entered(), _waiting())
    resumed = _fold(StepResumed(entry_id="ent-1"), run=waiting)

    assert waiting.entry is not None
    assert resumed.entry is not None
    assert (waiting.status, waiting.entry.status) == ("waiting", "waiting")
    assert (resumed.status, resumed.entry.status) == ("running", "running")


def test_an_entry_settles_without_changing_its_status() -> None:
    """Its actions are done; whether it waits is another fact."""
    run = _fold(_entered(), _waiting(), EntrySettled(entry_id="ent-1", outcome="ok"))

    assert run.entry is not None
    assert run.entry.is_settled
    assert (run.status, run.entry.status) == ("waiting", "waiting")


def test_an_entry_whose_action_failed_fails_the_run() -> None:
    """And says why."""
    run = _fold(_entered(), _failed())

    assert run.entry is not None
    assert (run.status, run.entry.status, run.entry.problem) == ("failed", "failed", PROBLEM)
    assert run.entry.is_settled


def test_leaving_a_step_leaves_the_status_of_the_run() -> None:
    """What comes next decides it."""
    run = _fold(_entered(), _waiting(), StepLeft(entry_id="ent-1", to_step_id="step-2"))

    assert run.entry is not None
    assert (run.entry.status, run.status) == ("left", "waiting")


LATE = [
    _waiting(),
    StepResumed(entry_id="ent-1"),
    StepLeft(entry_id="ent-1"),
    EntrySettled(entry_id="ent-1", outcome="ok"),
    _failed(),
]


@pytest.mark.parametrize("event", LATE, ids=lambda event: event.kind)
def test_a_late_fact_about_an_earlier_entry_changes_nothing(event: Event) -> None:
    """The run is elsewhere already."""
    run = _fold(_entered("ent-1"), _entered("ent-2"))

    assert _fold(event, run=run) == run


@pytest.mark.parametrize("event", LATE, ids=lambda event: event.kind)
def test_a_late_fact_about_an_entry_that_was_left_changes_nothing(event: Event) -> None:
    """A finished run does not wait or fail again because of a report that came late."""
    run = _fold(_entered("ent-1"), StepLeft(entry_id="ent-1"), RunCompleted(entry_id="ent-1"))

    assert _fold(event, run=run) == run


@pytest.mark.parametrize("event", LATE, ids=lambda event: event.kind)
def test_a_fact_about_an_entry_that_never_was_changes_nothing(event: Event) -> None:
    """A run without any entry is as it was created."""
    assert _fold(event) == _run()


@pytest.mark.parametrize(
    "event",
    [
        ApprovalAsked(entry_id="ent-1", to_step_id="step-2"),
        StepSignalRecorded(entry_id="ent-1", source="mcp"),
    ],
    ids=lambda event: event.kind,
)
def test_an_entry_is_only_changed_by_facts_of_its_own_life(event: Event) -> None:
    """Others name it to say what they belong to."""
    run = _fold(_entered("ent-1"))

    assert _fold(event, run=run) is run


def test_the_initial_session_is_written_once() -> None:
    """A later fact of that kind never changes it."""
    first = InitialSessionRecorded(session_id="s1", agent_profile_id="p1")
    second = InitialSessionRecorded(session_id="s2", agent_profile_id="p2")

    assert _fold(first, second).initial_session == InitialSession(
        session_id="s1", agent_profile_id="p1"
    )


def test_the_primary_moves_from_session_to_session() -> None:
    """The last one that was made primary answers."""
    first = _fold(SessionMadePrimary(), session_id="s1")

    assert first.primary_session_id == "s1"
    assert _fold(SessionMadePrimary(), run=first, session_id="s2").primary_session_id == "s2"


@pytest.mark.parametrize("event", [SessionParked(entry_id="ent"), SessionDeleted()])
def test_a_primary_that_goes_leaves_none(event: Event) -> None:
    """Parked or deleted, it no longer answers for the run."""
    run = _fold(SessionMadePrimary(), session_id="s1")

    assert _fold(event, run=run, session_id="s1").primary_session_id is None


@pytest.mark.parametrize("event", [SessionParked(), SessionDeleted()])
def test_another_session_that_goes_leaves_the_primary(event: Event) -> None:
    """A hand-over may park its source after the destination became primary."""
    run = _fold(SessionMadePrimary(), session_id="s2")

    assert _fold(event, run=run, session_id="s1").primary_session_id == "s2"


def test_an_update_changes_only_what_it_names() -> None:
    """An absent field stays as it was; an empty text is a value."""
    run = _run(title="T", description="D", context={"a": 1})

    assert _fold(RunUpdated(), run=run) == run
    assert _fold(RunUpdated(title=""), run=run).title == ""
    assert _fold(RunUpdated(title="N"), run=run).description == "D"
    assert _fold(RunUpdated(description="N"), run=run).title == "T"
    assert _fold(RunUpdated(context={"b": 2}), run=run).context == {"b": 2}


def test_a_run_is_archived_and_taken_out_again() -> None:
    """Another change does not touch it."""
    archived = _fold(RunUpdated(archived=True), RunUpdated(title="T"))

    assert archived.is_archived
    assert not _fold(RunUpdated(archived=False), run=archived).is_archived


def test_a_deleted_run_remembers_when_it_goes_for_good() -> None:
    """Its status stays what it was."""
    run = _fold(_entered(), RunDeleted(purge_at="2026-12-31T00:00:00.000Z"))

    assert run.is_deleted
    assert (run.purge_at, run.status) == ("2026-12-31T00:00:00.000Z", "running")
    assert not _run().is_deleted


def test_the_status_of_a_session_is_mirrored() -> None:
    """A list of runs shows it without reading any session."""
    run = _fold(AgentStatusChanged(status="running"), AgentStatusChanged(status="odd word"))

    assert run.session_status == "odd word"
    assert run.status == "created"


def test_kinds_that_are_not_about_the_run_return_the_run_itself() -> None:
    """Nothing is copied: the longest transcript costs the run nothing."""
    run = _fold(_entered())
    others = [cls for cls in EVENTS if cls.family is not StreamFamily.RUN]

    assert apply_to_run(run, AgentItemAppended(item={"id": "a"}), session_id="s") is run
    for cls in others:
        assert apply_to_run(run, object.__new__(cls), session_id=None) is run


def test_folding_never_changes_a_state_that_was_given_out() -> None:
    """Each step returns a value of its own."""
    run = _fold(_entered())
    _fold(_waiting(), RunUpdated(title="N", context={"x": 1}), RunCompleted(), run=run)

    assert run == _fold(_entered())
