"""The life of a profile."""

from spaced.domain.events.event import ProfileEvent, event
from spaced.domain.profile import Profile


@event("profile-defined")
class ProfileDefined(ProfileEvent):
    """The whole profile, at each change; the event's version is the profile's version."""

    profile: Profile


@event("profile-disabled")
class ProfileDisabled(ProfileEvent):
    """The profile takes no new sessions."""

    reason: str | None = None


@event("profile-enabled")
class ProfileEnabled(ProfileEvent):
    """The profile takes sessions again."""


@event("profile-deleted")
class ProfileDeleted(ProfileEvent):
    """A person deleted the profile; sessions that used it stay readable."""
