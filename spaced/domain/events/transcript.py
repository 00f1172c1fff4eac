"""The agent-session schema: what a session is, and the items of its transcript.

The first six kinds keep names, fields and rules of the schema that older clients read. The seventh
is ours: it lets a long answer reach the log in pieces without repeating what is there.
"""

from spaced.domain.events.event import SessionEvent, event
from spaced.domain.json_values import JsonObject


@event("agent-session-created")
class AgentSessionCreated(SessionEvent):
    """A session exists and can be listed, before anything runs.

    Attributes:
        data: `agent_id` (the profile's id), the session's initial `data`, and metadata such as
            `title`, `directory`, `follow_up_of` or `legacy_agent_session_id`.
    """

    data: JsonObject


@event("agent-status-changed")
class AgentStatusChanged(SessionEvent):
    """The session has another status.

    Attributes:
        status: one of the session statuses; migrated sessions may hold other words.
        data: what the reporter added; kept, and ignored by the fold.
    """

    status: str
    data: JsonObject | None = None


@event("agent-item-appended")
class AgentItemAppended(SessionEvent):
    """An item was added to the end of the transcript.

    Attributes:
        item: the whole item; its `id` is new in the session.
    """

    item: JsonObject


@event("agent-item-upserted")
class AgentItemUpserted(SessionEvent):
    """An item was replaced where it stands, or added to the end if it is new.

    Attributes:
        item: the whole item; fields that it does not name are gone.
    """

    item: JsonObject


@event("agent-item-updated")
class AgentItemUpdated(SessionEvent):
    """Some fields of an item have other values.

    Attributes:
        item_id: an item that the transcript holds.
        updates: replaces the item's fields of these names, and leaves the others.
    """

    item_id: str
    updates: JsonObject


@event("agent-session-data-updated")
class AgentSessionDataUpdated(SessionEvent):
    """The session's data was replaced as a whole.

    Attributes:
        data: all of it. `continuity` belongs to the runtime; the other keys stay as they were.
    """

    data: JsonObject


@event("agent-item-text-appended")
class AgentItemTextAppended(SessionEvent):
    """Text was added to the end of an item's field.

    Attributes:
        item_id: an item that the transcript holds.
        field: the item's field that grows, such as `content` or `output`.
        offset: where the text begins, in Unicode code points of what is stored already.
        text: what was added.
    """

    item_id: str
    field: str
    offset: int
    text: str
