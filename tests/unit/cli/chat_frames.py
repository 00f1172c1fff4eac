"""Frames of a session's stream, and what a chat prints of them."""

from typing import Any

from spaced.cli.chat.chat_view import ChatView
from spaced.client.sse import Frame
from spaced.wire.shapes import Live, Prompt, Session, SessionSettings

CHAT = "ses_1"


def session(**fields: Any) -> Session:
    """Return a session."""
    told: dict[str, Any] = {
        "id": CHAT,
        "run_id": CHAT,
        "agent_id": "prof_1",
        "status": "idle",
        "live": Live(word="idle"),
        "title": None,
        "directory": "/tmp",
        "created_at": "2026-12-01T09:30:00.000Z",
        "updated_at": None,
        "item_count": 0,
        "generation": 1,
        "is_primary": True,
        "archived": False,
        "queue_paused": False,
        "settings": SessionSettings(),
        "usage": {},
        "data": {},
        "metadata": {},
    }
    return Session(**{**told, **fields})


def waiting(prompt_id: str, text: str) -> Prompt:
    """Return a prompt that waits."""
    return Prompt(
        id=prompt_id,
        session_id=CHAT,
        status="pending",
        delivery="queue",
        parts=({"type": "text", "text": text},),
        held=False,
        origin="person",
    )


def event(kind: str, **body: Any) -> Frame:
    """Return the frame of a durable event."""
    return Frame(name=kind, data={"kind": kind, "session_id": CHAT, "body": body}, cursor="log.1")


def appended(item_id: str, item_type: str, **fields: Any) -> Frame:
    """Return an item that is new."""
    return event("agent-item-appended", item={"id": item_id, "type": item_type, **fields})


def updated(item_id: str, **updates: Any) -> Frame:
    """Return a change of an item."""
    return event("agent-item-updated", item_id=item_id, updates=updates)


def recorded(item_id: str, offset: int, text: str, *, field: str = "content") -> Frame:
    """Return text that was recorded."""
    return event("agent-item-text-appended", item_id=item_id, field=field, offset=offset, text=text)


def delta(item_id: str, offset: int, text: str, *, field: str = "content") -> Frame:
    """Return text that was announced."""
    told = {"session_id": CHAT, "item_id": item_id, "field": field, "offset": offset, "text": text}
    return Frame(name="agent-item-delta", data=told)


def live(*, word: str = "idle", asks: Any = (), texts: Any = ()) -> Frame:
    """Return what is going on when a stream has caught up."""
    statuses = {} if word == "idle" else {CHAT: {"word": word}}
    told = {"as_of": "log.1", "statuses": statuses, "asks": list(asks), "texts": list(texts)}
    return Frame(name="live", data=told)


def status(word: str, **fields: Any) -> Frame:
    """Return another live status."""
    return Frame(name="status", data={"session_id": CHAT, "live": {"word": word, **fields}})


def begun(**fields: Any) -> ChatView:
    """Return the view of a chat in which nothing has happened, and whose first page is read."""
    view = ChatView()
    view.begin(session(**fields), (), ())
    view.take(live())
    view.tear_off()
    return view


def printed(view: ChatView, *frames: Frame) -> str:
    """Let frames come, and return what is printed of them."""
    for frame in frames:
        view.take(frame)
    return "".join(span.text for span in view.tear_off())
