"""Which profile a descriptor means on this machine; never one that nobody chose."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spaced.domain.definitions import DefinedProfile
from spaced.domain.profile import Profile
from spaced.domain.workflow import ProfileDescriptor


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What a descriptor means.

    Attributes:
        profile_id: `None` if it means no one profile: the step is unbound.
        candidates: profiles that a person may have meant, where none is meant.
    """

    profile_id: str | None
    candidates: tuple[str, ...] = ()


def describe(profile: Profile) -> ProfileDescriptor:
    """Return the descriptor that names a profile by what it is."""
    return ProfileDescriptor(agent_name=profile.agent_name, model=profile.model, mode=profile.mode)


def resolve(
    descriptor: ProfileDescriptor,
    *,
    held: str | None,
    bound: str | None,
    profiles: Mapping[str, DefinedProfile],
) -> Binding:
    """Return the profile that a descriptor means.

    A person's own binding of the descriptor holds before everything else. Then the profile that
    the step had before, for as long as it is what the descriptor says: so a twin, or disabling
    it, never moves a step to another profile. Then the one enabled profile that is it.

    Args:
        held: the profile that the step had before.
        bound: the profile that a person bound the descriptor to.
        profiles: by id, without deleted ones.
    """
    if bound is not None and bound in profiles:
        return Binding(profile_id=bound)
    if held is not None and held in profiles and describe(profiles[held].profile) == descriptor:
        return Binding(profile_id=held)
    same = [
        profile_id
        for profile_id, one in profiles.items()
        if one.status == "enabled" and describe(one.profile) == descriptor
    ]
    if len(same) == 1:
        return Binding(profile_id=same[0])
    return Binding(profile_id=None, candidates=tuple(same) or _near(descriptor, profiles))


def _near(descriptor: ProfileDescriptor, profiles: Mapping[str, DefinedProfile]) -> tuple[str, ...]:
    """Return the enabled profiles of the same agent; of several such a person has to choose."""
    return tuple(_of_agent(descriptor.agent_name, profiles.items()))


def _of_agent(name: str, profiles: Iterable[tuple[str, DefinedProfile]]) -> Iterable[str]:
    wanted = name.casefold()
    for profile_id, one in profiles:
        names = {one.profile.agent_name.casefold(), one.profile.name.casefold()}
        if one.status == "enabled" and wanted in names:
            yield profile_id
