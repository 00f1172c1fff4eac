"""What the native API takes about workflows and the folders that they are read from.

In changes an absent field is left alone and a null one is cleared.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from spaced.wire.requests import Identifier, JsonValue, Path, Request

Name = Annotated[str, Meta(min_length=1, max_length=1000)]
Position = Annotated[int, Meta(ge=-(2**31), lt=2**31)]
Count = Annotated[int, Meta(ge=0, lt=2**31)]
Document = Annotated[str, Meta(max_length=4 * 1024 * 1024)]
OnConflict = Literal["skip", "rename", "fail"]


class Descriptor(Request, frozen=True, kw_only=True):
    """Names a profile by what it is."""

    agent_name: Name
    model: str = ""
    mode: str = ""


class StepAction(Request, frozen=True, kw_only=True):
    """One thing that a trigger does; its settings name steps by `step_id`."""

    type: str
    config: JsonValue | None = None


class Target(Request, frozen=True, kw_only=True):
    """Which earlier session takes a step."""

    kind: Literal["initial", "step"]
    step_id: Identifier | None = None


Events = dict[str, tuple[StepAction, ...]]


class NewStep(Request, frozen=True, kw_only=True):
    """A new step.

    Attributes:
        id: the client's own, so that the request can be repeated safely.
        position: behind all others if it is left out.
        agent_profile_id: a profile of this daemon; `agent_profile` names one by what it is.
    """

    name: Name
    id: Identifier | None = None
    position: Position | None = None
    color: str = ""
    prompt: str = ""
    events: Events = field(default_factory=dict)
    is_start_step: bool = False
    show_in_command_panel: bool = True
    allow_manual_move: bool = True
    auto_archive_after_hours: Count = 0
    agent_profile_id: Identifier | None = None
    agent_profile: Descriptor | None = None
    session_target: Target | None = None
    profile_session_start_policy: Literal["reuse", "new"] = "reuse"
    profile_session_end_policy: Literal["park", "complete"] = "park"
    auto_advance_requires_signal: bool = False
    cancel_triggers_turn_complete: bool = False
    complete_task_on_enter: bool = False
    wip_limit: Count = 0
    pull_from_step_id: Identifier | None = None


class StepChanges(Request, frozen=True, kw_only=True):
    """Changes of a step; name and position cannot be cleared."""

    name: Name | UnsetType = UNSET
    position: Position | UnsetType = UNSET
    color: str | UnsetType | None = UNSET
    prompt: str | UnsetType | None = UNSET
    events: Events | UnsetType | None = UNSET
    is_start_step: bool | UnsetType | None = UNSET
    show_in_command_panel: bool | UnsetType | None = UNSET
    allow_manual_move: bool | UnsetType | None = UNSET
    auto_archive_after_hours: Count | UnsetType | None = UNSET
    agent_profile_id: Identifier | UnsetType | None = UNSET
    agent_profile: Descriptor | UnsetType | None = UNSET
    session_target: Target | UnsetType | None = UNSET
    profile_session_start_policy: Literal["reuse", "new"] | UnsetType | None = UNSET
    profile_session_end_policy: Literal["park", "complete"] | UnsetType | None = UNSET
    auto_advance_requires_signal: bool | UnsetType | None = UNSET
    cancel_triggers_turn_complete: bool | UnsetType | None = UNSET
    complete_task_on_enter: bool | UnsetType | None = UNSET
    wip_limit: Count | UnsetType | None = UNSET
    pull_from_step_id: Identifier | UnsetType | None = UNSET


class NewWorkflow(Request, frozen=True, kw_only=True):
    """A new workflow; with an id of the client's own it can be repeated safely.

    Attributes:
        template: a built-in workflow whose shipped text it begins with; then only the name may be
            another one.
    """

    name: Name | None = None
    id: Identifier | None = None
    description: str = ""
    prompt: str = ""
    agent_profile_id: Identifier | None = None
    agent_profile: Descriptor | None = None
    steps: tuple[NewStep, ...] = ()
    template: Identifier | None = None


class WorkflowChanges(Request, frozen=True, kw_only=True):
    """Changes of a workflow's own fields; the name cannot be cleared."""

    name: Name | UnsetType = UNSET
    description: str | UnsetType | None = UNSET
    prompt: str | UnsetType | None = UNSET
    agent_profile_id: Identifier | UnsetType | None = UNSET
    agent_profile: Descriptor | UnsetType | None = UNSET


class WorkflowFilter(Request, frozen=True, kw_only=True):
    """Which workflows are listed.

    Attributes:
        retired: those whose file is gone, instead of those that can be used.
    """

    retired: bool = False


class WorkflowVersion(Request, frozen=True, kw_only=True):
    """Which version of a workflow is wanted.

    Attributes:
        revision: as a run pinned it; without one the newest.
    """

    revision: Annotated[int, Meta(ge=1, lt=2**53)] | None = None


class Duplicate(Request, frozen=True, kw_only=True):
    """A copy of a workflow."""

    name: Name | None = None
    id: Identifier | None = None


class Order(Request, frozen=True, kw_only=True):
    """Ids in the order that is wanted."""

    ids: tuple[Identifier, ...]


class ExportSelection(Request, frozen=True, kw_only=True):
    """Which workflows are exported.

    Attributes:
        ids: separated by commas; without it all that can be used, and with none in it none.
    """

    ids: Annotated[str, Meta(max_length=20_000)] | None = None


class DocumentToCheck(Request, frozen=True, kw_only=True):
    """A portable file.

    Attributes:
        content: the text of the file.
        format: how it is written.
        strict: whether unknown keys are errors.
    """

    content: Document
    format: Literal["yaml", "json"] = "yaml"
    strict: bool = False


class ProfileChoice(Request, frozen=True, kw_only=True):
    """A profile that a person chose for a step of an import.

    Attributes:
        workflow_index: the workflow's place in the document, from 0.
        step_position: null for the workflow's default.
        requested_profile: the descriptor that stands there, as the preview told it.
        profile_revision: of the profile, as the person saw it.
    """

    workflow_index: Count
    requested_profile: Descriptor
    profile_id: Identifier
    step_position: Position | None = None
    profile_revision: int | None = None


class ImportedDocument(DocumentToCheck, frozen=True, kw_only=True):
    """A portable file whose workflows are to be created.

    Attributes:
        on_conflict: what is done where a name is taken.
        choices: profiles for its steps.
    """

    on_conflict: OnConflict = "skip"
    choices: tuple[ProfileChoice, ...] = ()


class BindingChange(Descriptor, frozen=True, kw_only=True):
    """A descriptor, and the profile that it is to mean here."""

    profile_id: Identifier


class NewSyncSource(Request, frozen=True, kw_only=True):
    """A folder that workflows are to be read from.

    Attributes:
        path: the folder, absolute.
        polling: look at the folder regularly, for file systems that tell of no changes.
    """

    path: Path
    id: Identifier | None = None
    name: Name | None = None
    polling: bool = False


class SyncSourceChanges(Request, frozen=True, kw_only=True):
    """Changes of a sync source; what is left out stays as it is."""

    polling: bool | UnsetType = UNSET
    paused: bool | UnsetType = UNSET


class SyncRunForm(Request, frozen=True, kw_only=True):
    """How a source is read.

    Attributes:
        dry_run: only tell what would be done.
    """

    dry_run: bool = False
