"""Says who takes a prompt: the session that it names, or what follows a completed one."""

from spaced.domain.events.transcript import AgentSessionCreated, AgentStatusChanged
from spaced.domain.session import Session
from spaced.engine.held_run import HeldRun, about
from spaced.engine.journal import Statement
from spaced.engine.parts import EngineParts
from spaced.log.read_models.sessions import SESSION
from spaced.refusals import SessionTerminal


def recipient_of(
    parts: EngineParts, held: HeldRun, named: Session
) -> tuple[Session, list[Statement]]:
    """Return who takes a prompt, and what opens it: of a completed session, its follow-up.

    Raises:
        SessionTerminal: the session failed or was cancelled, so nobody takes it.
    """
    session = named
    while session.status == "completed":
        following = [
            other
            for other in held.sessions()
            if other.metadata.get("follow_up_of") == session.id and not other.is_deleted
        ]
        if not following:
            return _follow_up(parts, held, session)
        session = following[-1]
    if session.is_terminal:
        raise SessionTerminal(f"the session {session.id!r} is {session.status}")
    return session, []


def _follow_up(
    parts: EngineParts, held: HeldRun, completed: Session
) -> tuple[Session, list[Statement]]:
    session_id = parts.ids.new("ses")
    held.expect_new(SESSION.name, session_id)
    data: dict[str, object] = {
        "agent_id": completed.agent_id or "",
        "follow_up_of": completed.id,
        "title": completed.title,
        "data": {**completed.data},
        "owes_history": "continuity" not in completed.data,
    }
    if completed.directory is not None:
        data["directory"] = completed.directory
    opening = about(session_id, AgentSessionCreated(data=data), AgentStatusChanged(status="idle"))
    # The prompt decides on a session as it will be when both are recorded together.
    session = Session(
        id=session_id,
        run_id=held.id,
        agent_id=completed.agent_id,
        status="idle",
        created_at=parts.clock.now(),
        title=completed.title,
    )
    return session, opening
