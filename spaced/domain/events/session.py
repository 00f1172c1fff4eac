"""What happens to a session as a whole, beyond its transcript."""

from spaced.domain.events.event import SessionEvent, event
from spaced.domain.json_values import JsonObject


@event("session-configured")
class SessionConfigured(SessionEvent):
    """Some of what the session sets over its profile changed; an absent field stays as it was.

    Attributes:
        profile_id: another profile; it becomes the session's `agent_id`.
        options: the runtime's named options; replaces all of them.
        permissions: rules that come before the profile's; replaces all of them.
        headless: whether an ask that no rule settles is refused at once.
    """

    title: str | None = None
    profile_id: str | None = None
    mode: str | None = None
    model: str | None = None
    options: JsonObject | None = None
    permissions: tuple[JsonObject, ...] | None = None
    headless: bool | None = None


@event("session-reset")
class SessionReset(SessionEvent):
    """The provider's conversation begins anew; the transcript stays.

    Attributes:
        generation: the number of the new conversation.
        reason: `person`, `step-entry` or `lost`.
    """

    generation: int
    reason: str


@event("session-made-primary")
class SessionMadePrimary(SessionEvent):
    """The session answers for its run from now on, and no other one does."""


@event("session-parked")
class SessionParked(SessionEvent):
    """The session no longer answers for its run, and may be taken up again later.

    Attributes:
        entry_id: the step entry that it served.
    """

    entry_id: str | None = None


@event("session-deleted")
class SessionDeleted(SessionEvent):
    """One session of a run was hidden; its events go with the run's."""
