"""What a runtime is told about the session that an execution serves."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

from spaced.domain.json_values import JsonObject
from spaced.domain.profile import Profile
from spaced.domain.run import Run
from spaced.domain.session import Session
from spaced.engine.parts import EngineParts, EngineSettings
from spaced.runtime.protocol import SessionSpec

ALWAYS_SEEN: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"),
    }
)


def spec_of(
    parts: EngineParts, run: Run, session: Session, profile: Profile, execution_id: str
) -> SessionSpec:
    """Return a session as a runtime sees it, with the variables that its profile lets through."""
    directory = session.directory or run.directory
    environment = environment_of(parts.settings, profile)
    return SessionSpec(
        session_id=session.id,
        run_id=run.id,
        execution_id=execution_id,
        generation=session.generation,
        profile_id=session.agent_id or "",
        directory=directory or "/",
        profile=_resolved(profile, session),
        environment={**environment, "SPACED_SESSION_ID": session.id, "SPACED_RUN_ID": run.id},
        mcp_servers=parts.settings.mcp_servers,
        was_cut=session.was_cut,
    )


def environment_of(settings: EngineSettings, profile: Profile) -> dict[str, str]:
    """Return what an agent's processes may see: what is always let through, and the profile's."""
    names = {entry for entry in profile.environment if "=" not in entry}
    chosen = {
        name: value
        for name, value in settings.environment.items()
        if name in ALWAYS_SEEN or name in names or name.startswith("LC_")
    }
    for entry in profile.environment:
        name, is_literal, value = entry.partition("=")
        if is_literal:
            chosen[name] = value
    if profile.command:
        # A daemon's PATH often lacks the folder of the interpreter that a script's first line
        # names by `env`; it mostly lies beside the script.
        beside = str(PurePosixPath(profile.command[0]).parent)
        chosen["PATH"] = os.pathsep.join([beside, chosen.get("PATH", os.defpath)])
    return chosen


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
