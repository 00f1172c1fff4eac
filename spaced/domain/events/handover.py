"""How a conversation goes from one session of a run to the next, and how a run moves."""

from typing import Literal

from spaced.domain.events.event import RunEvent, SessionEvent, event
from spaced.domain.problem import Problem
from spaced.domain.workflow import EndPolicy, StartPolicy

TargetKind = Literal["profile", "initial", "step", "current"]


@event("initial-session-recorded")
class InitialSessionRecorded(RunEvent):
    """The run's first session, written once and never again."""

    session_id: str
    agent_profile_id: str


@event("route-prepared")
class RoutePrepared(RunEvent):
    """The destination of a move is chosen; the source is untouched and still primary.

    Attributes:
        operation_id: made from run, step, entry, target and start policy, so that a repeat finds
            the same route.
        is_fresh: whether the destination session was made for this route.
        source_workflow_version: the version whose end policy holds for the source.
    """

    operation_id: str
    entry_id: str
    to_step_id: str
    to_session_id: str
    is_fresh: bool
    target: TargetKind
    start_policy: StartPolicy
    end_policy: EndPolicy
    workflow_version: int
    source_workflow_version: int
    move_id: str | None = None
    from_step_id: str | None = None
    from_session_id: str | None = None


@event("route-committed")
class RouteCommitted(RunEvent):
    """The destination answers for the run; the source has been retired."""

    operation_id: str


@event("route-abandoned")
class RouteAbandoned(RunEvent):
    """The route ends without a switch; the run stays where it was."""

    operation_id: str
    problem: Problem


@event("binding-recorded")
class BindingRecorded(RunEvent):
    """A step with a profile of its own was served by this session; later steps may target it."""

    step_id: str
    session_id: str
    workflow_id: str
    agent_profile_id: str
    entry_id: str


@event("stop-intent-recorded")
class StopIntentRecorded(SessionEvent):
    """An execution is to be stopped; its final report must move nothing.

    Attributes:
        stamp: compared when the report comes, so that it is consumed once.
    """

    execution_id: str
    stamp: str


@event("stop-intent-consumed")
class StopIntentConsumed(SessionEvent):
    """The final report of a stopped execution came and was swallowed."""

    execution_id: str
    stamp: str
    report: str


@event("step-signal-recorded")
class StepSignalRecorded(RunEvent):
    """The agent or a person says that the step's work is done.

    Attributes:
        handoff: text for the next step's prompt; it is used once.
        source: `mcp`, `cli`, `api` or `manual`.
    """

    entry_id: str
    source: str
    handoff: str | None = None


@event("approval-asked")
class ApprovalAsked(RunEvent):
    """A move waits for a person's approval."""

    entry_id: str
    to_step_id: str


@event("approval-answered")
class ApprovalAnswered(RunEvent):
    """A person approved or refused the move, or a new turn withdrew the question."""

    entry_id: str
    outcome: Literal["approved", "refused", "withdrawn"]


@event("move-requested")
class MoveRequested(RunEvent):
    """The run is to go to another step; it ends in `move-applied` or `move-refused`.

    Attributes:
        move_id: the client's, or made from what caused the move, so that a repeat is the same.
        entry_id: the id of the entry to come.
        cause: what caused the move.
        requested_by: `person`, `agent` or `trigger`; a person's move beats the others.
        is_deferred: whether it waits for the end of the turn.
        instructions: one-time text for the prompt of the step.
    """

    move_id: str
    entry_id: str
    to_step_id: str
    cause: str
    requested_by: Literal["person", "agent", "trigger"]
    is_deferred: bool
    from_step_id: str | None = None
    instructions: str | None = None


@event("move-applied")
class MoveApplied(RunEvent):
    """The move was made."""

    move_id: str
    entry_id: str


@event("move-refused")
class MoveRefused(RunEvent):
    """The move was not made.

    Attributes:
        problem: why; the code `superseded` means that another move won.
    """

    move_id: str
    problem: Problem
