"""The profiles that a daemon makes by itself, so that a first chat needs no setting up."""

import logging
from collections.abc import Iterable
from typing import Final

from spaced.agents.finding import FoundAgent
from spaced.domain.profile import Profile
from spaced.engine.engine import Engine
from spaced.errors import InvalidProfile, ProfileExists

log = logging.getLogger(__name__)

DEMO_PROFILE_ID: Final = "prof_demo"

_DEMO: Final = Profile(name="demo", agent_name="scripted", runtime="scripted")


async def ensure_profiles(engine: Engine, agents: Iterable[FoundAgent] = ()) -> None:
    """Create a profile for the agent that needs no model and for each one that is installed.

    Each is made once in the life of a log: what was changed, disabled or deleted since stays so.

    Args:
        agents: what was found on this machine.
    """
    await _ensure(engine, DEMO_PROFILE_ID, _DEMO)
    for found in agents:
        if found.profile is not None:
            await _ensure(engine, found.entry.profile_id, found.profile)


async def _ensure(engine: Engine, profile_id: str, profile: Profile) -> None:
    if await engine.profiles.is_taken(profile_id):
        return
    try:
        await engine.profiles.create(profile, profile_id=profile_id)
    except (ProfileExists, InvalidProfile):
        # The latter: its plugin is blocked by the settings, or a person's own entry is wrong.
        log.info("no profile is made for %s", profile.name, extra={"event": "profile-not-made"})
    else:
        log.info("a profile for %s is there", profile.name, extra={"event": "profile-made"})
