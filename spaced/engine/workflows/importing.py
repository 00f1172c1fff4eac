"""Takes workflows of a portable file over: everything is looked at first, then all or nothing."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from spaced.domain.workflow import ProfileDescriptor, Step, Workflow
from spaced.domain.workflow_edits import one_start
from spaced.domain.workflow_references import with_step_ids
from spaced.engine.journal import Entry
from spaced.engine.workflows.bindings import KnownProfiles, ProfileBindings
from spaced.engine.workflows.editing import LOCAL, WorkflowEditing
from spaced.engine.workflows.reading import WorkflowRecord, Workflows
from spaced.engine.workflows.recording import WorkflowBook, renamed
from spaced.identifiers import IdGenerator
from spaced.workflow_refusals import StaleChoices, WorkflowExists

OnConflict = Literal["skip", "rename", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileChoice:
    """A profile that a person chose for a step of an import.

    Attributes:
        workflow_index: the workflow's place in the document, from 0.
        step_position: the step's position; `None` is the workflow's default.
        requested: the descriptor that stands there, as the person saw it.
        profile_revision: of the profile, as the person saw it; `None` takes whatever it is now.
    """

    workflow_index: int
    step_position: int | None
    requested: ProfileDescriptor
    profile_id: str
    profile_revision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedProfile:
    """A descriptor of a document, and what it means here.

    Attributes:
        step_name: `None` for the workflow's default.
        candidates: profiles that may be meant, where none is.
    """

    workflow_index: int
    step_position: int | None
    step_name: str | None
    descriptor: ProfileDescriptor
    profile_id: str | None
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPlan:
    """What an import would do.

    Attributes:
        created: for each workflow of the document its name here; `None` if it is skipped.
        skipped: names that are taken.
    """

    created: tuple[str | None, ...]
    skipped: tuple[str, ...]
    profiles: tuple[WantedProfile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did."""

    created: tuple[WorkflowRecord, ...]
    skipped: tuple[str, ...]


class WorkflowImports:
    """Imports workflows that have passed the gates."""

    def __init__(
        self,
        book: WorkflowBook,
        workflows: Workflows,
        editing: WorkflowEditing,
        bindings: ProfileBindings,
        ids: IdGenerator,
    ) -> None:
        self._book = book
        self._workflows = workflows
        self._editing = editing
        self._bindings = bindings
        self._ids = ids
        # Two imports at once would both find a name free.
        self._turn = asyncio.Lock()

    async def preview(
        self, document: Sequence[Workflow], *, on_conflict: OnConflict = "skip"
    ) -> ImportPlan:
        """Return what an import would do.

        Raises:
            WorkflowExists: a name is taken, and that is to be an error.
        """
        names = await self._names(document, on_conflict)
        skipped = tuple(
            workflow.name for workflow, name in zip(document, names, strict=True) if name is None
        )
        known = await self._bindings.known()
        wanted = tuple(
            one
            for index, workflow in enumerate(document)
            if names[index] is not None
            for one in _wanted(index, workflow, known)
        )
        return ImportPlan(created=tuple(names), skipped=skipped, profiles=wanted)

    async def perform(
        self,
        document: Sequence[Workflow],
        *,
        on_conflict: OnConflict = "skip",
        choices: Sequence[ProfileChoice] = (),
    ) -> Imported:
        """Create the workflows of a document in one append.

        Args:
            choices: profiles for its steps; all others mean what their descriptors say here.

        Raises:
            WorkflowExists: a name is taken, and that is to be an error.
            StaleChoices: a chosen profile cannot be used, or the step wants another one by now.
        """
        async with self._turn:
            return await self._perform(document, on_conflict, choices)

    async def _perform(
        self,
        document: Sequence[Workflow],
        on_conflict: OnConflict,
        choices: Sequence[ProfileChoice],
    ) -> Imported:
        plan = await self.preview(document, on_conflict=on_conflict)
        known = await self._bindings.known()
        _refuse_stale(document, choices, known)
        entries: list[Entry] = []
        records: list[WorkflowRecord] = []
        for index, name in enumerate(plan.created):
            if name is None:
                continue
            chosen = _with_choices(index, document[index], choices)
            workflow = renamed(known.settle(one_start(self._with_own_ids(chosen))), name)
            seen = await self._book.look(self._ids.new("wf"))
            defined = seen.defined(workflow, LOCAL)
            entries.append(seen.entry(defined))
            records.append(seen.after(defined))
        if entries:
            await self._book.record(*entries)
        return Imported(created=tuple(records), skipped=plan.skipped)

    async def _names(
        self, document: Sequence[Workflow], on_conflict: OnConflict
    ) -> list[str | None]:
        names: list[str | None] = []
        taken: set[str] = set()
        for workflow in document:
            name: str | None = workflow.name
            if workflow.name in taken or await self._workflows.named(workflow.name):
                if on_conflict == "fail":
                    raise WorkflowExists(f"there is a workflow called {workflow.name!r} already")
                name = None
                if on_conflict == "rename":
                    name = await self._editing.free_name(workflow.name, frozenset(taken))
            names.append(name)
            taken |= {name} if name is not None else set()
        return names

    def _with_own_ids(self, workflow: Workflow) -> Workflow:
        return with_step_ids(workflow, {step.id: self._ids.new("step") for step in workflow.steps})


def _wanted(index: int, workflow: Workflow, known: KnownProfiles) -> Sequence[WantedProfile]:
    owners: list[Workflow | Step] = [workflow, *workflow.in_order()]
    found: list[WantedProfile] = []
    for owner in owners:
        if owner.profile is None:
            continue
        meant = known.of(owner)
        step = owner if isinstance(owner, Step) else None
        found.append(
            WantedProfile(
                workflow_index=index,
                step_position=None if step is None else step.position,
                step_name=None if step is None else step.name,
                descriptor=owner.profile,
                profile_id=meant.profile_id,
                candidates=meant.candidates,
            )
        )
    return found


def _refuse_stale(
    document: Sequence[Workflow], choices: Sequence[ProfileChoice], known: KnownProfiles
) -> None:
    stale: list[Mapping[str, object]] = []
    for choice in choices:
        reason = _stale(document, choice, known)
        if reason is not None:
            stale.append(
                {
                    "workflow_index": choice.workflow_index,
                    "step_position": choice.step_position,
                    "reason": reason,
                }
            )
    if stale:
        raise StaleChoices(
            f"{len(stale)} of the chosen profiles cannot be used", choices=tuple(stale)
        )


def _stale(document: Sequence[Workflow], choice: ProfileChoice, known: KnownProfiles) -> str | None:
    wanted = {
        (one.workflow_index, one.step_position): one.descriptor
        for index, workflow in enumerate(document)
        for one in _wanted(index, workflow, known)
    }
    place = (choice.workflow_index, choice.step_position)
    profile = known.profiles.get(choice.profile_id)
    if wanted.get(place) != choice.requested:
        return "changed-descriptor"
    if profile is None or profile.status != "enabled":
        return "unavailable-profile"
    if choice.profile_revision not in (None, profile.version):
        return "changed-profile"
    return None


def _with_choices(index: int, workflow: Workflow, choices: Sequence[ProfileChoice]) -> Workflow:
    """Return the workflow with chosen profiles named directly, as if set in an editor."""
    chosen = {c.step_position: c.profile_id for c in choices if c.workflow_index == index}
    steps = tuple(
        replace(step, profile=None, profile_id=chosen[step.position])
        if step.position in chosen
        else step
        for step in workflow.steps
    )
    if None in chosen:
        workflow = replace(workflow, profile=None, profile_id=chosen[None])
    return replace(workflow, steps=steps)
