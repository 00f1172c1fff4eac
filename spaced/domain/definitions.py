"""The folds of what people define: workflows, profiles, sync sources.

What was deleted stays deleted until it is defined anew, whatever comes late.
"""

from dataclasses import dataclass, replace
from typing import Literal

from spaced.domain.events.event import Event
from spaced.domain.events.profile import (
    ProfileDefined,
    ProfileDeleted,
    ProfileDisabled,
    ProfileEnabled,
)
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
from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem
from spaced.domain.profile import Profile
from spaced.domain.workflow import Workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedWorkflow:
    """A workflow as its stream leaves it.

    Attributes:
        version: of its newest definition, in its stream; step entries pin it.
        sort_order: its place among all workflows, from 1; 0 is behind all that have one.
    """

    workflow: Workflow
    origin: JsonObject
    version: int
    status: Literal["active", "retired", "deleted"] = "active"
    sort_order: int = 0

    @property
    def source(self) -> str:
        """Where it comes from: `builtin`, `local` or `synced`."""
        return str(self.origin.get("source", "local"))

    @property
    def source_id(self) -> str:
        """The sync source that it is read from; empty for all others."""
        return str(self.origin.get("source_id", ""))


def apply_to_workflow(
    state: DefinedWorkflow | None, event: Event, *, version: int
) -> DefinedWorkflow | None:
    """Return the workflow after the event at this version of its stream."""
    if isinstance(event, WorkflowDefined):
        return DefinedWorkflow(
            workflow=event.workflow,
            origin=event.origin,
            version=version,
            sort_order=event.sort_order,
        )
    if state is None or state.status == "deleted":
        return state
    match event:
        case WorkflowRetired():
            return replace(state, status="retired")
        case WorkflowDeleted():
            return replace(state, status="deleted")
        case WorkflowReleased():
            return replace(state, origin={"source": "local"})
        case _:
            return state


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedProfile:
    """A profile as its stream leaves it."""

    profile: Profile
    version: int
    status: Literal["enabled", "disabled", "deleted"] = "enabled"


def apply_to_profile(
    state: DefinedProfile | None, event: Event, *, version: int
) -> DefinedProfile | None:
    """Return the profile after the event at this version of its stream."""
    if isinstance(event, ProfileDefined):
        status = "enabled" if state is None or state.status == "deleted" else state.status
        return DefinedProfile(profile=event.profile, version=version, status=status)
    if state is None or state.status == "deleted":
        return state
    match event:
        case ProfileDisabled():
            return replace(state, status="disabled")
        case ProfileEnabled():
            return replace(state, status="enabled")
        case ProfileDeleted():
            return replace(state, status="deleted")
        case _:
            return state


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncSource:
    """A watched folder as its stream leaves it."""

    path: str
    polling: bool = False
    name: str | None = None
    status: Literal["watched", "paused", "removed"] = "watched"
    ok: bool | None = None
    problem: Problem | None = None
    warnings: tuple[JsonObject, ...] = ()
    commit: str | None = None


def apply_to_sync_source(state: SyncSource | None, event: Event) -> SyncSource | None:
    """Return the sync source after an event of its stream."""
    if isinstance(event, SyncSourceDefined):
        before = state or SyncSource(path=event.path)
        return replace(
            before, path=event.path, polling=event.polling, name=event.name, status="watched"
        )
    if state is None or state.status == "removed":
        return state
    match event:
        case SyncSourcePaused():
            return replace(state, status="paused")
        case SyncSourceResumed():
            return replace(state, status="watched")
        case SyncSourceRemoved():
            return replace(state, status="removed")
        case SyncOutcomeChanged():
            return replace(
                state,
                ok=event.ok,
                problem=event.problem,
                warnings=event.warnings,
                commit=event.commit,
            )
        case _:
            return state
