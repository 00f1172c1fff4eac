"""The lives of what people define: workflows, profiles, sync sources."""

import pytest

from spaced.domain.definitions import (
    DefinedProfile,
    DefinedWorkflow,
    SyncSource,
    apply_to_profile,
    apply_to_sync_source,
    apply_to_workflow,
)
from spaced.domain.events.event import Event
from spaced.domain.events.profile import (
    ProfileDefined,
    ProfileDeleted,
    ProfileDisabled,
    ProfileEnabled,
)
from spaced.domain.events.run import RunCompleted
from spaced.domain.events.sync_source import (
    SyncOutcomeChanged,
    SyncSourceDefined,
    SyncSourcePaused,
    SyncSourceRemoved,
    SyncSourceResumed,
)
from spaced.domain.events.workflow import (
    WorkflowDefined,
    WorkflowDeleted,
    WorkflowReleased,
    WorkflowRetired,
)
from spaced.domain.problem import Problem
from spaced.domain.profile import Profile
from spaced.domain.workflow import Workflow

SYNCED = {"source": "synced", "source_id": "src", "path": "a.yaml"}


def _defined(name: str = "W", source: str = "local") -> WorkflowDefined:
    return WorkflowDefined(workflow=Workflow(name=name), origin={"source": source})


def _profile(name: str = "P") -> ProfileDefined:
    return ProfileDefined(profile=Profile(name=name, agent_name="a", runtime="acp"))


def _workflow(*events: Event) -> DefinedWorkflow | None:
    state = None
    for version, event in enumerate(events, start=1):
        state = apply_to_workflow(state, event, version=version)
    return state


def _profile_after(*events: Event) -> DefinedProfile | None:
    state = None
    for version, event in enumerate(events, start=1):
        state = apply_to_profile(state, event, version=version)
    return state


def _source(*events: Event) -> SyncSource | None:
    state = None
    for event in events:
        state = apply_to_sync_source(state, event)
    return state


@pytest.mark.parametrize(
    ("events", "status", "version"),
    [
        ([_defined()], "active", 1),
        ([_defined("A"), _defined("W")], "active", 2),
        ([_defined(), WorkflowRetired(reason="gone")], "retired", 1),
        ([_defined(), WorkflowRetired(reason="gone"), _defined()], "active", 3),
        ([_defined(), WorkflowDeleted()], "deleted", 1),
        ([_defined(), WorkflowReleased()], "active", 1),
        ([_defined(), WorkflowRetired(reason="gone"), WorkflowReleased()], "retired", 1),
        ([WorkflowRetired(reason="early"), _defined()], "active", 2),
        ([_defined(), WorkflowDeleted(), WorkflowRetired(reason="late")], "deleted", 1),
        ([_defined(), WorkflowDeleted(), _defined()], "active", 3),
    ],
)
def test_a_workflow_lives(events: list[Event], status: str, version: int) -> None:
    """Only a definition gives a version; step entries pin it, so nothing else may move it."""
    state = _workflow(*events)

    assert state is not None
    assert (state.status, state.version, state.workflow.name) == (status, version, "W")


def test_late_facts_do_not_bring_back_what_was_deleted() -> None:
    """Only a new definition does."""
    profile = _profile_after(_profile(), ProfileDeleted(), ProfileEnabled())
    source = _source(SyncSourceDefined(path="/a"), SyncSourceRemoved(), SyncSourceResumed())

    assert profile is not None
    assert profile.status == "deleted"
    assert source is not None
    assert source.status == "removed"


def test_a_released_workflow_is_a_local_one() -> None:
    """Nothing of the folder that it came from is left."""
    synced = WorkflowDefined(workflow=Workflow(name="W"), origin=SYNCED)
    state = _workflow(synced, WorkflowReleased())

    assert state is not None
    assert state.origin == {"source": "local"}
    assert state.source == "local"


@pytest.mark.parametrize("source", ["builtin", "local", "synced"])
def test_a_workflow_says_where_it_comes_from(source: str) -> None:
    """The newest definition tells."""
    state = _workflow(_defined(source="builtin"), _defined(source=source))

    assert state is not None
    assert state.source == source


def test_an_origin_that_names_no_source_is_local() -> None:
    """What people made by hand needs to say nothing."""
    state = _workflow(WorkflowDefined(workflow=Workflow(name="W"), origin={}))

    assert state is not None
    assert state.source == "local"


@pytest.mark.parametrize(
    "event",
    [
        WorkflowRetired(reason="x"),
        WorkflowDeleted(),
        WorkflowReleased(),
        ProfileDisabled(),
        ProfileEnabled(),
        ProfileDeleted(),
        SyncSourcePaused(),
        SyncSourceResumed(),
        SyncSourceRemoved(),
        SyncOutcomeChanged(ok=True),
        RunCompleted(),
    ],
    ids=lambda event: event.kind,
)
def test_nothing_but_a_definition_brings_anything_into_being(event: Event) -> None:
    """A fact about something that was never defined gives nothing, and no error."""
    assert _workflow(event) is None
    assert _profile_after(event) is None
    assert _source(event) is None


def test_kinds_of_other_streams_change_nothing() -> None:
    """The very same state is returned."""
    workflow, profile = _workflow(_defined()), _profile_after(_profile())
    source = _source(SyncSourceDefined(path="/p"))

    assert apply_to_workflow(workflow, ProfileDeleted(), version=2) is workflow
    assert apply_to_profile(profile, WorkflowDeleted(), version=2) is profile
    assert apply_to_sync_source(source, WorkflowDeleted()) is source


@pytest.mark.parametrize(
    ("events", "status", "version"),
    [
        ([_profile()], "enabled", 1),
        ([_profile(), ProfileDisabled(reason="broken")], "disabled", 1),
        ([_profile(), ProfileDisabled(), ProfileEnabled()], "enabled", 1),
        ([_profile(), ProfileDisabled(), _profile()], "disabled", 3),
        ([_profile(), ProfileDeleted()], "deleted", 1),
        ([_profile(), ProfileDeleted(), _profile()], "enabled", 3),
    ],
)
def test_a_profile_lives(events: list[Event], status: str, version: int) -> None:
    """A new definition leaves a disabled profile disabled and brings a deleted one back."""
    state = _profile_after(*events)

    assert state is not None
    assert (state.status, state.version) == (status, version)


def test_the_newest_definition_of_a_profile_holds() -> None:
    """It is the whole profile, no merge."""
    fuller = Profile(name="Old", agent_name="a", runtime="acp", model="big")
    state = _profile_after(ProfileDefined(profile=fuller), _profile("New"))

    assert state is not None
    assert (state.profile.name, state.profile.model) == ("New", "")


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([], "watched"),
        ([SyncSourcePaused()], "paused"),
        ([SyncSourcePaused(), SyncSourceResumed()], "watched"),
        ([SyncSourcePaused(), SyncSourceDefined(path="/q")], "watched"),
        ([SyncSourceRemoved()], "removed"),
        ([SyncSourceRemoved(), SyncSourceDefined(path="/p")], "watched"),
    ],
)
def test_a_sync_source_lives(events: list[Event], status: str) -> None:
    """A new definition is read from now on, whatever was before."""
    state = _source(SyncSourceDefined(path="/p"), *events)

    assert state is not None
    assert state.status == status


def test_a_new_definition_of_a_source_keeps_the_last_outcome() -> None:
    """Until the next run of the sync says otherwise."""
    problem = Problem(code="unreadable", message="It cannot be read.")
    outcome = SyncOutcomeChanged(ok=False, problem=problem, warnings=({"line": 3},), commit="abc")
    state = _source(
        SyncSourceDefined(path="/p", name="N"), outcome, SyncSourceDefined(path="/q", polling=True)
    )

    assert state == SyncSource(
        path="/q",
        polling=True,
        name=None,
        ok=False,
        problem=problem,
        warnings=({"line": 3},),
        commit="abc",
    )


def test_an_outcome_replaces_all_of_the_one_before() -> None:
    """A success takes problem, warnings and commit away."""
    problem = Problem(code="unreadable", message="It cannot be read.")
    state = _source(
        SyncSourceDefined(path="/p"),
        SyncOutcomeChanged(ok=False, problem=problem, warnings=({"line": 3},), commit="abc"),
        SyncOutcomeChanged(ok=True),
    )

    assert state == SyncSource(path="/p", ok=True)
