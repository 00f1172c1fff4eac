"""What a runtime is told about the session that an execution serves."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from spaced.domain.json_values import JsonObject
from spaced.domain.profile import Profile
from spaced.domain.run import Run
from spaced.domain.session import Session
from spaced.engine.parts import EngineParts
from spaced.runtime.protocol import SessionSpec

ALWAYS_SEEN: Final = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ"}
)


def spec_of(
    parts: EngineParts, run: Run, session: Session, profile: Profile, execution_id: str
) -> SessionSpec:
    """Return a session as a runtime sees it, with the variables that its profile lets through."""
    directory = session.directory or run.directory
    seen = {*ALWAYS_SEEN, *profile.environment}
    chosen = {
        name: value
        for name, value in parts.settings.environment.items()
        if name in seen or name.startswith("LC_")
    }
    return SessionSpec(
        session_id=session.id,
        run_id=run.id,
        execution_id=execution_id,
        generation=session.generation,
        profile_id=session.agent_id or "",
        directory=directory or "/",
        profile=_resolved(profile, session),
        environment={**chosen, "SPACED_SESSION_ID": session.id, "SPACED_RUN_ID": run.id},
        mcp_servers=parts.settings.mcp_servers,
    )


def continuity_of(session: Session, runtime: str) -> JsonObject | None:
    """Return what continues the provider's conversation, if this runtime has made it."""
    continuity = session.data.get("continuity")
    if not isinstance(continuity, Mapping):
        return None
    return continuity if continuity.get("runtime") in (None, runtime) else None


def _resolved(profile: Profile, session: Session) -> Profile:
    """Return a profile with what a session sets over it."""
    own = session.configuration
    options = {**(profile.options or {}), **(own.options or {})}
    return replace(
        profile,
        mode=profile.mode if own.mode is None else own.mode,
        model=profile.model if own.model is None else own.model,
        options=options or None,
    )
