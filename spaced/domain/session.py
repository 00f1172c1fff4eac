"""The fold of a session without its items: pure, and in the order of the stream.

The projected session is this state together with its `Transcript`. Each of the six kinds of the
agent-session schema sets `updated_at` to its own time, also to an earlier one. Kinds of ours change
what they name and leave `updated_at` alone, text that is appended among them: it arrives in pieces
between two events of those six, and a piece writes no row. Unknown kinds change nothing.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from spaced.domain.events.event import Event
from spaced.domain.events.prompt import PromptAdmitted, QueuePaused, QueueResumed
from spaced.domain.events.session import (
    SessionConfigured,
    SessionDeleted,
    SessionReset,
)
from spaced.domain.events.transcript import (
    AgentItemAppended,
    AgentItemUpdated,
    AgentItemUpserted,
    AgentSessionCreated,
    AgentSessionDataUpdated,
    AgentStatusChanged,
)
from spaced.domain.events.turn import TurnDispatched, TurnEnded
from spaced.domain.json_values import JsonObject, copy_object

RESERVED_KEYS: Final = frozenset(
    {"id", "run_id", "workflow_run_id", "items", "agent_id", "status", "data"}
    | {"created_at", "updated_at", "item_count", "owes_history", "usage"}
)
"""Keys of metadata that can never take over a session's identity or state."""

_MOST_USED: Final = 2**53
"""In one turn, of anything; a larger number is a provider's mistake and might not add up at all."""

_RESCUED_KEYS: Final = {"id": "legacy_session_id", "workflow_run_id": "legacy_workflow_run_id"}

_ITEM_EVENTS: Final = (AgentItemAppended, AgentItemUpserted, AgentItemUpdated)
TERMINAL_STATUSES: Final = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfiguration:
    """What a session sets over its profile; `None` means that the profile's value holds."""

    mode: str | None = None
    model: str | None = None
    options: JsonObject | None = None
    permissions: tuple[JsonObject, ...] | None = None
    headless: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One agent conversation inside a run.

    Attributes:
        agent_id: the id of its profile; the metadata of a migrated chat may lack one.
        status: `idle running completed failed cancelled`; migrated ones may hold other words.
        data: replaced as a whole; `data.continuity` belongs to the runtime.
        metadata: everything else that it was created with.
        created_at: milliseconds since the epoch.
        updated_at: the time of the last of the six kinds, `None` before the first.
        generation: counts the provider's conversations, from 1.
        owes_history: whether the agent has to be told the transcript with its next turn, since
            its provider's conversation does not know it.
        usage: sums of what its turns reported, by name.
        continued_in_a_row: how many prompts of ours told the agent to go on after a restart, since
            a turn was completed or a person prompted.
        was_cut: whether the last turn that was handed over came to no good end, so that the agent
            may remember less of it, or more, than the transcript shows.

    Which session is the primary one says the run alone, so that there is never a second one.
    """

    id: str
    run_id: str
    agent_id: str | None
    status: str
    created_at: int
    updated_at: int | None = None
    item_count: int = 0
    title: str | None = None
    data: JsonObject = field(default_factory=dict)
    metadata: JsonObject = field(default_factory=dict)
    configuration: SessionConfiguration = SessionConfiguration()
    generation: int = 1
    is_queue_paused: bool = False
    is_deleted: bool = False
    owes_history: bool = False
    usage: JsonObject = field(default_factory=dict)
    continued_in_a_row: int = 0
    was_cut: bool = False

    @property
    def directory(self) -> str | None:
        """The folder that it works in, where that is its own and not its run's."""
        own = self.metadata.get("directory")
        return own if isinstance(own, str) else None

    @property
    def is_terminal(self) -> bool:
        """Whether its status never changes again."""
        return self.status in TERMINAL_STATUSES


def seed(
    session_id: str,
    run_id: str,
    *,
    context: JsonObject,
    run_status: str,
    created_at: int,
) -> Session:
    """Return the session as its run's context describes it, before any event of its own.

    Args:
        context: the run's; its status, agent, title, data and metadata become the session's.
        run_status: used where the context names no status.
        created_at: when the run was created.
    """
    status = context.get("status")
    session = Session(
        id=session_id,
        run_id=run_id,
        agent_id=_text_or_none(context.get("agent_id")),
        status=status if isinstance(status, str) else run_status,
        created_at=created_at,
        title=_text_or_none(context.get("title")),
        data=_object(context.get("data")),
    )
    return replace(session, metadata=_with_metadata({}, context))


def apply_to_session(
    session: Session, event: Event, *, created_at: int, is_new_item: bool = False
) -> Session:
    """Return the session after an event; an event that it does not know returns it unchanged.

    Args:
        created_at: when the event happened, in milliseconds since the epoch.
        is_new_item: for an event about an item, whether it added one; the transcript, or the
            derived row of the item, knows.
    """
    if isinstance(event, _ITEM_EVENTS):
        count = session.item_count + is_new_item
        return replace(session, updated_at=created_at, item_count=count)
    match event:
        case AgentStatusChanged(status=status):
            return replace(session, updated_at=created_at, status=status)
        case AgentSessionDataUpdated(data=data):
            return replace(session, updated_at=created_at, data=copy_object(data))
        case AgentSessionCreated(data=data):
            return _created(session, data, created_at)
        case SessionConfigured():
            return _configured(session, event)
        case _:
            return _apply_own_kind(session, event)


def _apply_own_kind(session: Session, event: Event) -> Session:
    match event:
        case SessionReset(generation=generation, reason=reason):
            return replace(session, generation=generation, owes_history=reason == "lost")
        case TurnDispatched() if session.owes_history:
            return replace(session, owes_history=False)
        case TurnEnded(outcome=outcome, usage=usage):
            is_good = outcome == "completed"
            return replace(
                session,
                usage=_sum(session.usage, usage or {}),
                continued_in_a_row=0 if is_good else session.continued_in_a_row,
                # Of a turn that nobody was told of, nobody can remember anything else.
                was_cut=session.was_cut if outcome == "not-dispatched" else not is_good,
            )
        case PromptAdmitted(origin=origin):
            count = session.continued_in_a_row + 1 if origin == "recovery" else 0
            return replace(session, continued_in_a_row=count)
        case SessionDeleted():
            return replace(session, is_deleted=True)
        case QueuePaused():
            return replace(session, is_queue_paused=True)
        case QueueResumed():
            return replace(session, is_queue_paused=False)
        case _:
            return session


def _created(session: Session, payload: JsonObject, created_at: int) -> Session:
    agent_id = payload.get("agent_id")
    title = payload.get("title")
    return replace(
        session,
        agent_id=agent_id if isinstance(agent_id, str) and agent_id else session.agent_id,
        title=title if isinstance(title, str) else session.title,
        data=_object(payload["data"]) if payload.get("data") is not None else session.data,
        metadata=_with_metadata(session.metadata, payload),
        owes_history=payload.get("owes_history") is True,
        created_at=created_at,
        updated_at=created_at,
    )


def _configured(session: Session, event: SessionConfigured) -> Session:
    before = session.configuration
    configuration = SessionConfiguration(
        mode=before.mode if event.mode is None else event.mode,
        model=before.model if event.model is None else event.model,
        options=before.options if event.options is None else copy_object(event.options),
        permissions=before.permissions
        if event.permissions is None
        else tuple(map(copy_object, event.permissions)),
        headless=before.headless if event.headless is None else event.headless,
    )
    return replace(
        session,
        configuration=configuration,
        title=session.title if event.title is None else event.title,
        agent_id=session.agent_id if event.profile_id is None else event.profile_id,
    )


def _with_metadata(metadata: JsonObject, payload: JsonObject) -> JsonObject:
    """Add a payload's free keys; ids that it claims are kept aside, the first one for good."""
    merged = copy_object(metadata)
    for key, value in copy_object(payload).items():
        if key in _RESCUED_KEYS:
            merged.setdefault(_RESCUED_KEYS[key], value)
        elif key not in RESERVED_KEYS and key != "title":  # a title has a field of its own
            merged[key] = value
    return merged


def _sum(totals: JsonObject, usage: JsonObject) -> JsonObject:
    """Add what a turn used; only numbers add up, and what they are called is the provider's."""
    used = {k: number for k, v in usage.items() if abs(number := _number(v)) <= _MOST_USED}
    return {**totals, **{k: _number(totals.get(k)) + v for k, v in used.items() if v}}


def _number(value: object) -> int | float:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0


def _object(value: object) -> JsonObject:
    return copy_object(value) if isinstance(value, dict) else {}


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
