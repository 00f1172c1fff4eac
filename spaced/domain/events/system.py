"""Facts of the whole daemon: standing permissions, and which profile a descriptor means here."""

from spaced.domain.events.event import SystemEvent, event
from spaced.domain.json_values import JsonObject
from spaced.domain.workflow import ProfileDescriptor


@event("grant-recorded")
class GrantRecorded(SystemEvent):
    """A person allowed something for good.

    Attributes:
        match: `{digest}` of canonical arguments, or `{pattern}` that the agent offered.
    """

    grant_id: str
    profile_id: str
    directory: str
    tool_kind: str
    match: JsonObject


@event("grant-revoked")
class GrantRevoked(SystemEvent):
    """A standing permission no longer holds."""

    grant_id: str


@event("descriptor-bound")
class DescriptorBound(SystemEvent):
    """On this machine a descriptor means this profile."""

    descriptor: ProfileDescriptor
    profile_id: str


@event("descriptor-unbound")
class DescriptorUnbound(SystemEvent):
    """The descriptor is resolved by its own words again."""

    descriptor: ProfileDescriptor
