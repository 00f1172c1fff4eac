"""The fold of a run as a whole: pure, and in the order of the stream."""

from dataclasses import dataclass, field, replace
from typing import Literal

from spaced.domain.events.event import Event
from spaced.domain.events.handover import InitialSessionRecorded
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
from spaced.domain.events.transcript import AgentStatusChanged
from spaced.domain.json_values import JsonObject, copy_object
from spaced.domain.problem import Problem

RunStatus = Literal["created", "running", "waiting", "completed", "cancelled", "failed"]
EntryStatus = Literal["running", "waiting", "left", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentEntry:
    """The step entry that a run is in.

    Attributes:
        is_settled: whether its actions are done; until then nothing new is promoted.
    """

    id: str
    step_id: str
    workflow_id: str
    workflow_version: int
    status: EntryStatus = "running"
    is_settled: bool = False
    problem: Problem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialSession:
    """The first session of a run and the profile that it had, written once."""

    session_id: str
    agent_profile_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution of a workflow, for its whole life.

    Attributes:
        session_status: the status that the run's sessions last took, for lists.
        primary_session_id: the session that answers for the run now.
        purge_at: when a deleted run is removed for good, as an RFC 3339 time.
        created_at: milliseconds since the epoch.
    """

    id: str
    workflow_id: str
    workflow_version: int
    created_at: int
    status: RunStatus = "created"
    title: str | None = None
    description: str | None = None
    directory: str | None = None
    context: JsonObject = field(default_factory=dict)
    forked_from: JsonObject | None = None
    session_status: str | None = None
    primary_session_id: str | None = None
    initial_session: InitialSession | None = None
    entry: CurrentEntry | None = None
    is_archived: bool = False
    purge_at: str | None = None

    @property
    def is_deleted(self) -> bool:
        """Whether it takes nothing more."""
        return self.purge_at is not None

    @property
    def is_live(self) -> bool:
        """Whether it may still go on, so that the step it is in must stay."""
        return not self.is_deleted and self.status not in ("completed", "cancelled")

    @property
    def is_chat(self) -> bool:
        """Whether the run is a chat, and its own id names its first session."""
        return self.context.get("agent_session") is True


def create_run(run_id: str, event: RunCreated, *, created_at: int) -> Run:
    """Return the run that its first event describes."""
    return Run(
        id=run_id,
        workflow_id=event.workflow_id,
        workflow_version=event.workflow_version,
        created_at=created_at,
        title=event.title,
        description=event.description,
        directory=event.directory,
        context=copy_object(event.context),
        forked_from=None if event.forked_from is None else copy_object(event.forked_from),
    )


def apply_to_run(run: Run, event: Event, *, session_id: str | None) -> Run:
    """Return the run after an event; an event that it does not know returns it unchanged.

    Args:
        session_id: the session that the envelope names.
    """
    match event:
        case AgentStatusChanged(status=status):
            return replace(run, session_status=status)
        case SessionMadePrimary():
            return replace(run, primary_session_id=session_id)
        case SessionParked() | SessionDeleted():
            keeps = run.primary_session_id != session_id
            return replace(run, primary_session_id=run.primary_session_id if keeps else None)
        case InitialSessionRecorded() if run.initial_session is None:
            first = InitialSession(
                session_id=event.session_id, agent_profile_id=event.agent_profile_id
            )
            return replace(run, initial_session=first)
        case RunUpdated():
            return _updated(run, event)
        case _:
            return _apply_to_life(_apply_to_entry(run, event), event)


def _apply_to_life(run: Run, event: Event) -> Run:
    match event:
        case RunCompleted():
            return replace(run, status="completed")
        case RunCancelled():
            return replace(run, status="cancelled")
        case RunReopened():
            return replace(run, status="waiting")
        case RunDeleted(purge_at=purge_at):
            return replace(run, purge_at=purge_at)
        case _:
            return run


def _apply_to_entry(run: Run, event: Event) -> Run:
    if isinstance(event, StepEntered):
        return replace(run, entry=_entered(event), status="running")
    # Facts about an entry that the run has left already come late and change nothing.
    entry = run.entry
    if entry is None or entry.status == "left" or getattr(event, "entry_id", None) != entry.id:
        return run
    match event:
        case StepWaiting():
            return replace(run, entry=replace(entry, status="waiting"), status="waiting")
        case StepResumed():
            return replace(run, entry=replace(entry, status="running"), status="running")
        case StepLeft():
            return replace(run, entry=replace(entry, status="left"))
        case EntrySettled(outcome="error", problem=problem):
            failed = replace(entry, status="failed", is_settled=True, problem=problem)
            return replace(run, entry=failed, status="failed")
        case EntrySettled():
            return replace(run, entry=replace(entry, is_settled=True))
        case _:
            return run


def _entered(event: StepEntered) -> CurrentEntry:
    return CurrentEntry(
        id=event.entry_id,
        step_id=event.step_id,
        workflow_id=event.workflow_id,
        workflow_version=event.workflow_version,
    )


def _updated(run: Run, event: RunUpdated) -> Run:
    return replace(
        run,
        title=run.title if event.title is None else event.title,
        description=run.description if event.description is None else event.description,
        is_archived=run.is_archived if event.archived is None else event.archived,
        context=run.context if event.context is None else copy_object(event.context),
    )
