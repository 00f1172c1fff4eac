"""How a command reaches a session: alone, on what is true, and to its end."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from spaced.domain.session import Session
from spaced.engine.held_run import HeldRun
from spaced.engine.parts import EngineParts
from spaced.refusals import SessionDeleted, UnknownSession

_T = TypeVar("_T")


async def command(
    parts: EngineParts, session_id: str, decide: Callable[[HeldRun, Session], Awaitable[_T]]
) -> _T:
    """Hold a session's run, decide and record; a caller who gives up leaves nothing half done.

    Args:
        decide: gets the run and the session as they are.

    Raises:
        UnknownSession: there is no session of this id.
        SessionDeleted: it was deleted, or its run was.
    """
    run_id = await parts.queues.run_of_session(session_id)

    async def held_command() -> _T:
        async with parts.queues.hold(run_id) as held:
            return await decide(held, living_session(held, session_id))

    return await parts.tasks.finish(held_command(), name=f"command to {session_id}")


def living_session(held: HeldRun, session_id: str) -> Session:
    """Return a session of a held run.

    Raises:
        UnknownSession: the run has no such session.
        SessionDeleted: it was deleted, or its run was.
    """
    session = held.session(session_id) if held.exists else None
    if session is None:
        raise UnknownSession(session_id)
    if session.is_deleted or held.run.is_deleted:
        raise SessionDeleted(f"the session {session_id!r} was deleted")
    return session
