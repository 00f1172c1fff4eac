"""The rows of workflows, profiles, sync sources, grants and descriptors."""

import pytest

from spaced.domain.events.event import Event
from spaced.domain.events.profile import ProfileDefined, ProfileDisabled
from spaced.domain.events.sync_source import SyncOutcomeChanged, SyncSourceDefined
from spaced.domain.events.system import (
    DescriptorBound,
    DescriptorUnbound,
    GrantRecorded,
    GrantRevoked,
)
from spaced.domain.events.workflow import WorkflowDefined, WorkflowRetired
from spaced.domain.profile import Profile
from spaced.domain.workflow import Action, ProfileDescriptor, Step, Workflow
from spaced.log.fold import StreamFold, fold_stream
from spaced.log.read_models.definitions import PROFILES, SYNC_SOURCES, WORKFLOWS
from spaced.testing.fake_clock import START
from tests.unit.log.stories import recorded, said

WORKFLOW = Workflow(
    name="W",
    steps=(
        Step(
            id="s",
            name="S",
            position=1,
            triggers={"on_enter": (Action(type="run_script", config={"deep": [{"a": None}]}),)},
        ),
    ),
)
OPUS = ProfileDescriptor(agent_name="agent", model="big", mode="plan")


def _fold(stream: str, *events: Event) -> StreamFold:
    fold = fold_stream(recorded(stream, [said(event) for event in events]))
    assert fold.damage is None
    return fold


def _grant(grant_id: str) -> GrantRecorded:
    return GrantRecorded(
        grant_id=grant_id,
        profile_id="prof",
        directory="/d",
        tool_kind="edit",
        match={"digest": "d"},
    )


def test_a_workflow_is_read_back_from_its_row() -> None:
    """Steps, triggers and settings are all there; the version is that of the definition."""
    defined = WorkflowDefined(workflow=WORKFLOW, origin={"source": "local"})
    fold = _fold("wf", defined, WorkflowRetired(reason="gone"), defined)
    row = fold.row("workflow", ("wf",))

    assert row is not None
    assert (row["name"], row["status"], row["stream"]) == ("W", "active", "wf")
    state = WORKFLOWS.state_of(row)
    assert state.workflow == WORKFLOW
    assert state.version == 3


def test_a_profile_is_read_back_from_its_row() -> None:
    """Rules and options are all there."""
    profile = Profile(
        name="P", agent_name="a", runtime="acp", options={"x": [1]}, permissions=({"y": 2},)
    )
    row = _fold("prof", ProfileDefined(profile=profile), ProfileDisabled()).row(
        "profile", ("prof",)
    )

    assert row is not None
    assert (row["name"], row["status"]) == ("P", "disabled")
    assert PROFILES.state_of(row).profile == profile


@pytest.mark.parametrize(("name", "shown"), [("N", "N"), (None, "/p"), ("", "/p")])
def test_a_sync_source_is_listed_by_its_name_or_its_path(name: str | None, shown: str) -> None:
    """A folder needs no name."""
    defined = SyncSourceDefined(path="/p", name=name)
    row = _fold("src", defined, SyncOutcomeChanged(ok=True)).row("sync_source", ("src",))

    assert row is not None
    assert row["name"] == shown
    assert SYNC_SOURCES.state_of(row).ok is True


@pytest.mark.parametrize("event", [WorkflowRetired(reason="x"), ProfileDisabled()])
def test_what_was_never_defined_has_no_row(event: Event) -> None:
    """And that is no damage."""
    assert _fold("x", event).rows == {}


def test_a_grant_stands_until_it_is_revoked() -> None:
    """Its row can be found by what it allows."""
    fold = _fold("system", _grant("g1"), _grant("g2"), GrantRevoked(grant_id="g1"))

    assert list(fold.rows) == [("grant", ("g2",))]
    assert fold.row("grant", ("g2",)) == {
        "id": "g2",
        "stream": "system",
        "profile_id": "prof",
        "directory": "/d",
        "tool_kind": "edit",
        "match": '{"digest":"d"}',
        "created_at": START,
    }


def test_revoking_what_does_not_stand_changes_nothing() -> None:
    """Two people may revoke the same grant."""
    assert _fold("system", GrantRevoked(grant_id="g"), GrantRevoked(grant_id="g")).rows == {}


def test_the_newest_binding_of_a_descriptor_holds() -> None:
    """Descriptors differ by agent, model and mode together."""
    other = ProfileDescriptor(agent_name="agent", model="big")
    fold = _fold(
        "system",
        DescriptorBound(descriptor=OPUS, profile_id="p1"),
        DescriptorBound(descriptor=other, profile_id="p2"),
        DescriptorBound(descriptor=OPUS, profile_id="p3"),
    )

    bound = {key: put.row["profile_id"] for (_, key), put in fold.rows.items()}
    assert bound == {("agent", "big", "plan"): "p3", ("agent", "big", ""): "p2"}


def test_a_descriptor_that_is_unbound_has_no_row() -> None:
    """It is resolved by its own words again."""
    bound = DescriptorBound(descriptor=OPUS, profile_id="p1")

    assert _fold("system", bound, DescriptorUnbound(descriptor=OPUS)).rows == {}
