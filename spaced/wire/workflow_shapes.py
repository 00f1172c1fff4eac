"""What the native API answers about workflows and the folders that they are read from."""

from typing import Literal

from spaced.wire.shapes import JsonValue, Shape

ProfileStatus = Literal["none", "bound", "unbound"]


class Step(Shape, frozen=True, kw_only=True):
    """A step with everything that it says.

    Attributes:
        revision: of its workflow; the answer's `ETag`.
        events: for each trigger its actions, `{type, config}`; steps are named by `step_id`.
        agent_profile_id: the profile that it means here.
        agent_profile: the descriptor `{agent_name, model, mode}` by which it names a profile.
        profile_status: `unbound` if the descriptor means no one profile; entering it fails then.
        profile_candidates: ids of profiles that may be meant, where none is.
        session_target: `{kind, step_id}`.
        demoted_start_steps: other steps that this change made no start step, as they are now.
    """

    id: str
    workflow_id: str
    revision: int
    name: str
    position: int
    color: str
    prompt: str
    events: JsonValue
    is_start_step: bool
    show_in_command_panel: bool
    allow_manual_move: bool
    auto_archive_after_hours: int
    agent_profile_id: str | None
    agent_profile: JsonValue | None
    profile_status: ProfileStatus
    profile_candidates: tuple[str, ...]
    session_target: JsonValue | None
    profile_session_start_policy: Literal["reuse", "new"]
    profile_session_end_policy: Literal["park", "complete"]
    auto_advance_requires_signal: bool
    cancel_triggers_turn_complete: bool
    complete_task_on_enter: bool
    wip_limit: int
    pull_from_step_id: str | None
    demoted_start_steps: tuple[JsonValue, ...] = ()


class Workflow(Shape, frozen=True, kw_only=True):
    """A workflow with its steps.

    Attributes:
        revision: of its newest definition; the answer's `ETag`, and what runs pin.
        status: `retired` if its file is gone: it is kept, but nothing new begins in it.
        source: `synced` ones are changed in their file.
        origin: where it comes from; for synced ones `source_id path file line commit dirty`.
    """

    id: str
    revision: int
    status: Literal["active", "retired", "deleted"]
    source: Literal["builtin", "local", "synced"]
    origin: JsonValue
    sort_order: int
    name: str
    description: str
    prompt: str
    agent_profile_id: str | None
    agent_profile: JsonValue | None
    profile_status: ProfileStatus
    profile_candidates: tuple[str, ...]
    steps: tuple[Step, ...]


class WorkflowList(Shape, frozen=True, kw_only=True):
    """Workflows, in their order."""

    workflows: tuple[Workflow, ...]


class StepList(Shape, frozen=True, kw_only=True):
    """The steps of a workflow, by position."""

    revision: int
    steps: tuple[Step, ...]


class Template(Shape, frozen=True, kw_only=True):
    """A workflow that ships, to begin with."""

    id: str
    name: str
    description: str
    steps: tuple[str, ...]


class TemplateList(Shape, frozen=True, kw_only=True):
    """The workflows that ship."""

    templates: tuple[Template, ...]


class CheckFinding(Shape, frozen=True, kw_only=True):
    """Something about a portable file that its author should know; places count from 1."""

    line: int
    column: int
    severity: Literal["error", "warning"]
    code: str
    where: str
    message: str
    remedy: str


class CheckReport(Shape, frozen=True, kw_only=True):
    """What a check found.

    Attributes:
        workflows: names of the workflows that the file holds; none if it is refused.
    """

    accepted: bool
    version: int | None
    workflows: tuple[str, ...]
    findings: tuple[CheckFinding, ...]


class WantedProfile(Shape, frozen=True, kw_only=True):
    """A descriptor of a document, and what it means here; see `Step`.

    Attributes:
        workflow_index: the workflow's place in the document, from 0.
        step_position: null for the workflow's default.
    """

    workflow_index: int
    step_position: int | None
    step_name: str | None
    requested_profile: JsonValue
    profile_id: str | None
    candidates: tuple[str, ...]


class ImportPreview(Shape, frozen=True, kw_only=True):
    """What an import would do.

    Attributes:
        created: the names that the new workflows would have.
        skipped: names that are taken.
    """

    created: tuple[str, ...]
    skipped: tuple[str, ...]
    profiles: tuple[WantedProfile, ...]
    findings: tuple[CheckFinding, ...]


class Imported(Shape, frozen=True, kw_only=True):
    """What an import did."""

    created: tuple[Workflow, ...]
    skipped: tuple[str, ...]
    findings: tuple[CheckFinding, ...]


class ProfileBinding(Shape, frozen=True, kw_only=True):
    """On this machine a descriptor means this profile."""

    agent_name: str
    model: str
    mode: str
    profile_id: str


class ProfileBindingList(Shape, frozen=True, kw_only=True):
    """Every descriptor that a person has bound."""

    bindings: tuple[ProfileBinding, ...]


class SyncWarning(Shape, frozen=True, kw_only=True):
    """Something about a folder that people should know; line and column are 0 for whole files."""

    file: str
    line: int
    column: int
    severity: Literal["error", "warning"]
    code: str
    message: str


class SyncSource(Shape, frozen=True, kw_only=True):
    """A folder that workflows are read from.

    Attributes:
        status: a paused one is read only when it is asked to be.
        ok: how the last run ended; null before the first.
        problem: why it failed, as `{code, message, remedy}`.
        last_run_at: when it ended.
        commit: of the clone that the folder lies in, at that time.
        counts: of workflows, by what became of them.
    """

    id: str
    path: str
    name: str | None
    polling: bool
    status: Literal["watched", "paused", "removed"]
    ok: bool | None
    problem: JsonValue | None
    last_run_at: str | None
    commit: str | None
    counts: dict[str, int]
    warnings: tuple[SyncWarning, ...]


class SyncSourceList(Shape, frozen=True, kw_only=True):
    """All sync sources, by name."""

    sources: tuple[SyncSource, ...]


class PlannedChange(Shape, frozen=True, kw_only=True):
    """What a run does with one workflow.

    Attributes:
        fields: for `update`, what differs: the workflow's own fields, and `step NAME: field`.
        run_ids: for `blocked`, the runs that are in a step which the file no longer has.
        renamed_to: for `retire`, the workflow that its file has instead, if there is one.
    """

    action: Literal["create", "update", "retire", "return", "blocked", "frozen", "unchanged"]
    workflow_id: str
    name: str
    file: str
    fields: tuple[str, ...] = ()
    run_ids: tuple[str, ...] = ()
    renamed_to: str | None = None


class SyncRun(Shape, frozen=True, kw_only=True):
    """What a run of a source did, or would do.

    Attributes:
        changes: every workflow of the source that is not as it was.
    """

    source_id: str
    dry_run: bool
    commit: str | None
    counts: dict[str, int]
    changes: tuple[PlannedChange, ...]
    warnings: tuple[SyncWarning, ...]
