"""What an empty log is given, so that a first chat needs no setting up."""

import logging
from typing import Final

from spaced.domain.profile import Profile
from spaced.engine.engine import Engine
from spaced.errors import InvalidProfile, ProfileExists

log = logging.getLogger(__name__)

DEMO_PROFILE_ID: Final = "prof_demo"

_DEMO: Final = Profile(name="demo", agent_name="scripted", runtime="scripted")


async def ensure_profiles(engine: Engine) -> None:
    """Create the profile of the agent that needs no model, once in the life of a log.

    One that was changed, disabled or deleted since stays so.
    """
    try:
        await engine.profiles.create(_DEMO, profile_id=DEMO_PROFILE_ID)
    except (ProfileExists, InvalidProfile):
        # The latter: the plugin of the scripted agent is blocked by the settings.
        log.debug("the demo profile is not made", extra={"event": "demo-profile-kept"})
