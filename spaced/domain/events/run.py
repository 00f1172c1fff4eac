"""A run from its creation to its end, and the steps that it visits."""

from typing import Literal

from spaced.domain.events.event import RunEvent, event
from spaced.domain.json_values import JsonObject
from spaced.domain.problem import Problem

EntryCause = Literal[
    "start", "turn-end", "turn-start", "manual", "signal", "approval", "deferred", "resume"
]


@event("run-created")
class RunCreated(RunEvent):
    """A run exists; it is the first event of its stream.

    Attributes:
        workflow_id: the workflow that it executes.
        workflow_version: the version of that workflow's stream that was the newest.
        context: what belongs to the run for its whole life; a chat has `agent_session: true`.
        directory: the folder that its sessions work in, as an absolute path.
        forked_from: `{run_id, session_id, item_id}` where the run is a fork.
    """

    workflow_id: str
    workflow_version: int
    context: JsonObject
    title: str | None = None
    description: str | None = None
    directory: str | None = None
    forked_from: JsonObject | None = None


@event("run-updated")
class RunUpdated(RunEvent):
    """Some of the run's own properties changed; an absent field stays as it was.

    Attributes:
        session_ids: where `archived` changes, the run's sessions, which move between the lists
            with it; a chat's own session need not be named.
    """

    title: str | None = None
    description: str | None = None
    archived: bool | None = None
    context: JsonObject | None = None
    session_ids: tuple[str, ...] = ()


@event("run-deleted")
class RunDeleted(RunEvent):
    """The run was deleted; its stream takes nothing more.

    Attributes:
        purge_at: when its events are removed for good, as an RFC 3339 time.
        session_ids: the run's sessions, which leave every list with it.
    """

    purge_at: str
    session_ids: tuple[str, ...] = ()


@event("run-completed")
class RunCompleted(RunEvent):
    """The run reached its end, by a final step or by the user."""

    entry_id: str | None = None


@event("run-cancelled")
class RunCancelled(RunEvent):
    """A person ended the run before its end."""

    reason: str | None = None


@event("run-reopened")
class RunReopened(RunEvent):
    """A run that had ended goes on, because a person moved it or prompted it."""

    reason: str | None = None


@event("step-entered")
class StepEntered(RunEvent):
    """The run is in a step; the entry's id is the identity of all that this visit causes.

    Attributes:
        workflow_version: the version whose prompt, triggers and actions the entry follows.
        move_id: the move that led here; absent for the first entry of a run.
    """

    entry_id: str
    step_id: str
    workflow_id: str
    workflow_version: int
    cause: EntryCause
    move_id: str | None = None


@event("entry-settled")
class EntrySettled(RunEvent):
    """The entry's actions are done, or one of them failed.

    Attributes:
        problem: why the entry failed, if it did.
    """

    entry_id: str
    outcome: Literal["ok", "error"]
    problem: Problem | None = None


@event("step-waiting")
class StepWaiting(RunEvent):
    """The step waits for input, for a signal or for an approval.

    Attributes:
        request: what it waits for, for display.
    """

    entry_id: str
    wait_kind: Literal["agent-user-input", "signal", "approval"]
    request: JsonObject | None = None


@event("step-resumed")
class StepResumed(RunEvent):
    """What the step waited for has come."""

    entry_id: str
    turn_id: str | None = None


@event("step-left")
class StepLeft(RunEvent):
    """The visit is over."""

    entry_id: str
    to_step_id: str | None = None
