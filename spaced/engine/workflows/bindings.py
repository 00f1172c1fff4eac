"""Which profiles the descriptors of workflows mean here, and people's own bindings of them.

Bindings stand outside of workflows, so that a workflow which is read from a file can be used with
other agents without changing it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from spaced.domain.definitions import DefinedProfile
from spaced.domain.events.event import SystemEvent
from spaced.domain.events.system import DescriptorBound, DescriptorUnbound
from spaced.domain.profile_binding import Binding, describe, resolve
from spaced.domain.workflow import ProfileDescriptor, Step, Workflow
from spaced.engine.journal import Entry, Journal, Statement
from spaced.engine.profiles import Profiles
from spaced.engine.run_queues import RunQueues
from spaced.log.read_models.system import DESCRIPTOR
from spaced.log.record import SYSTEM_STREAM
from spaced.refusals import NotFound
from spaced.storage.protocol import Storage

Bound: TypeAlias = Mapping[ProfileDescriptor, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProfiles:
    """The profiles and bindings of one moment, to look at many steps with.

    Attributes:
        profiles: by id, without deleted ones.
        bound: the profile that a person bound a descriptor to.
    """

    profiles: Mapping[str, DefinedProfile]
    bound: Bound

    def resolve(self, descriptor: ProfileDescriptor, held: str | None = None) -> Binding:
        """Return what a descriptor means, for a step that had a profile before."""
        bound = self.bound.get(descriptor)
        return resolve(descriptor, held=held, bound=bound, profiles=self.profiles)

    def is_bound(self, descriptor: ProfileDescriptor) -> bool:
        """Tell whether a descriptor means one profile."""
        return self.resolve(descriptor).profile_id is not None

    def of(self, owner: Step | Workflow) -> Binding:
        """Return the profile of a step or of a whole workflow, if it names one."""
        if owner.profile is None:
            return Binding(profile_id=owner.profile_id)
        return self.resolve(owner.profile, owner.profile_id)

    def settle(self, workflow: Workflow, before: Workflow | None = None) -> Workflow:
        """Return the workflow with the profiles that its descriptors mean now held in it.

        Args:
            before: the version before, whose profiles are kept where they still match.
        """
        old = {} if before is None else {step.id: step for step in before.steps}
        return replace(
            workflow,
            profile_id=self._held(workflow, before),
            steps=tuple(
                replace(step, profile_id=self._held(step, old.get(step.id)))
                for step in workflow.steps
            ),
        )

    def holding(self, step: Step) -> Step:
        """Return a new step with the profile that its descriptor means now."""
        return replace(step, profile_id=self._held(step, None))

    def with_held(self, changes: Mapping[str, object]) -> Mapping[str, object]:
        """Return changes of a step or a workflow with the profile that a new descriptor means."""
        descriptor = changes.get("profile")
        if not isinstance(descriptor, ProfileDescriptor):
            return changes
        held = changes.get("profile_id")
        meant = self.resolve(descriptor, held if isinstance(held, str) else None)
        return {**changes, "profile_id": meant.profile_id}

    def _held(self, owner: Step | Workflow, before: Step | Workflow | None) -> str | None:
        if owner.profile is None:
            return owner.profile_id
        held = owner.profile_id if before is None else before.profile_id
        return self.resolve(owner.profile, held).profile_id

    def described(self, workflow: Workflow) -> Workflow:
        """Return the workflow with a descriptor wherever it names a profile, for other machines."""
        return replace(
            workflow,
            profile=self._descriptor(workflow),
            steps=tuple(replace(step, profile=self._descriptor(step)) for step in workflow.steps),
        )

    def _descriptor(self, owner: Step | Workflow) -> ProfileDescriptor | None:
        if owner.profile is not None or owner.profile_id is None:
            return owner.profile
        known = self.profiles.get(owner.profile_id)
        return None if known is None else describe(known.profile)


class ProfileBindings:
    """Reads and changes the bindings of descriptors."""

    def __init__(
        self, storage: Storage, journal: Journal, queues: RunQueues, profiles: Profiles
    ) -> None:
        self._storage = storage
        self._journal = journal
        self._queues = queues
        self._profiles = profiles

    async def known(self) -> KnownProfiles:
        """Return the profiles and bindings as they are now."""
        records = await self._profiles.list()
        profiles = {
            record.id: DefinedProfile(
                profile=record.profile, version=record.revision, status=record.status
            )
            for record in records
        }
        return KnownProfiles(profiles=profiles, bound=dict(await self.list()))

    async def list(self) -> Sequence[tuple[ProfileDescriptor, str]]:
        """Return every descriptor that a person has bound, and to which profile."""
        found = await self._storage.list_rows(DESCRIPTOR.name)
        return [
            (
                ProfileDescriptor(
                    agent_name=str(row["agent_name"]),
                    model=str(row["model"]),
                    mode=str(row["mode"]),
                ),
                str(row["profile_id"]),
            )
            for row in found.rows
        ]

    async def bind(self, descriptor: ProfileDescriptor, profile_id: str) -> None:
        """Let a descriptor mean a profile on this machine; the same again changes nothing.

        Raises:
            UnknownProfile: there is none of this id, or it was deleted.
        """
        await self._profiles.get(profile_id)
        if dict(await self.list()).get(descriptor) != profile_id:
            await self._record(DescriptorBound(descriptor=descriptor, profile_id=profile_id))

    async def unbind(self, descriptor: ProfileDescriptor) -> None:
        """Let a descriptor mean what its own words say again.

        Raises:
            NotFound: nobody has bound it.
        """
        if descriptor not in dict(await self.list()):
            words = f"{descriptor.agent_name} {descriptor.model} {descriptor.mode}".strip()
            raise NotFound(f"the descriptor {words!r} is not bound")
        await self._record(DescriptorUnbound(descriptor=descriptor))

    async def _record(self, event: SystemEvent) -> None:
        async with self._queues.hold(SYSTEM_STREAM) as system:
            entry = Entry(
                stream=SYSTEM_STREAM,
                expected_version=system.version,
                statements=[Statement(event=event)],
            )
            system.is_usable = False  # its version moves by another door
            await self._journal.append(entry)
