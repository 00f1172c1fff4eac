"""Sessions as a whole: created, listed, changed, ended and deleted."""

from typing import Any

import msgspec
from msgspec import UNSET

from spaced.api.presenting import session_shape
from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.domain.chat import ChatRequest
from spaced.engine.session_lists import ListCursor, ListedSession
from spaced.engine.sessions import Configuration
from spaced.wire import requests, shapes

ROUTES = RouteTable("sessions")


@ROUTES.post("/v1/sessions", status=201)
async def create_session(services: Services, *, body: requests.NewSession) -> shapes.Session:
    """Create a chat; it exists and is useful before anything runs.

    The same request with the same id gives the same session again.
    """
    request = ChatRequest(
        profile_id=body.profile,
        directory=body.directory,
        title=body.title,
        mode=body.mode,
        model=body.model,
        options=body.options,
        permissions=body.permissions,
        headless=body.headless,
    )
    session = await services.engine.sessions.create(request, session_id=body.id)
    return await _one(services, session.id)


@ROUTES.get("/v1/sessions")
async def list_sessions(services: Services, *, query: requests.SessionFilter) -> shapes.SessionPage:
    """List sessions, the one that changed last first."""
    page = await services.engine.lists.page(
        status=query.status,
        directory=query.directory,
        profile_id=query.profile,
        archived=query.archived,
        limit=query.limit,
        after=None if query.cursor is None else ListCursor.read(query.cursor),
    )
    return shapes.SessionPage(
        sessions=tuple(_shape(services, entry) for entry in page.entries),
        next_cursor=None if page.next is None else str(page.next),
    )


@ROUTES.get("/v1/sessions/{session_id}")
async def get_session(services: Services, *, session_id: str) -> shapes.Session:
    """Return a session."""
    return await _one(services, session_id)


@ROUTES.patch("/v1/sessions/{session_id}")
async def change_session(
    services: Services, *, session_id: str, body: requests.SessionChanges
) -> shapes.Configured:
    """Change a session's title and settings, or move it to the archive and back.

    A connected agent is told, and the report says what it made of each setting.
    """
    changes: dict[str, Any] = {
        name: value for name, value in msgspec.structs.asdict(body).items() if value is not UNSET
    }
    archived = changes.pop("archived", None)
    configured = await services.engine.sessions.configure(
        session_id, Configuration(**changes), archived=archived
    )
    return shapes.Configured(
        session=await _one(services, session_id), report=dict(configured.report)
    )


@ROUTES.delete("/v1/sessions/{session_id}")
async def delete_session(services: Services, *, session_id: str, query: requests.Deletion) -> None:
    """Delete a chat, or one session of a run with others; its id is never used again."""
    await services.engine.deletions.delete(session_id, force=query.force, now=query.now)


@ROUTES.post("/v1/sessions/{session_id}/complete")
async def complete_session(services: Services, *, session_id: str) -> shapes.Session:
    """End a session for good; a later prompt goes to a follow-up that continues it."""
    await services.engine.sessions.complete(session_id)
    return await _one(services, session_id)


@ROUTES.post("/v1/sessions/{session_id}/fork", status=201)
async def fork_session(
    services: Services, *, session_id: str, body: requests.NewFork
) -> shapes.Session:
    """Start a new chat with the transcript of another one, up to and with an item."""
    fork = await services.engine.forks.fork(session_id, at_item=body.item, new_id=body.id)
    return await _one(services, fork.id)


async def _one(services: Services, session_id: str) -> shapes.Session:
    return _shape(services, await services.engine.lists.get(session_id))


def _shape(services: Services, entry: ListedSession) -> shapes.Session:
    coordinator = services.engine.coordinator
    return session_shape(
        entry.session,
        entry.run,
        status=coordinator.status(entry.session.id),
        damage=entry.damage,
        problem=coordinator.problems.get(entry.session.id),
    )
