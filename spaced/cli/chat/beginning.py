"""Begins a new chat, with the profile that a person means."""

from collections.abc import Sequence
from pathlib import Path

from spaced.agents.catalogue import unknown_agent
from spaced.agents.entries import profile_id_of
from spaced.client import calls
from spaced.client.calls import perform
from spaced.client.fresh_ids import fresh_id
from spaced.client.place import Place
from spaced.errors import SpacedError, UnknownProfile
from spaced.refusals import InvalidRequest
from spaced.wire.shapes import Profile, Session


def begin_session(
    place: Place,
    *,
    profile: str | None,
    directory: Path,
    title: str | None,
    agent: str | None = None,
) -> Session:
    """Create a chat.

    Args:
        profile: an id or a name; without one the only profile that could be meant.
        directory: an absolute path.
        agent: the agent's name in the catalogue, instead of a profile; if it is installed and has
            no profile yet, it gets one.

    Raises:
        InvalidRequest: it is not clear which profile is meant.
        SpacedError: it was refused, or there is no daemon.
    """
    profiles = perform(place, calls.profiles()).profiles
    if agent is None:
        chosen = chosen_profile(profiles, profile)
    else:
        chosen = profile_of_agent(place, profiles, agent)
    session_id = fresh_id("ses")
    more = {} if title is None else {"title": title}
    return perform(place, calls.create_session(session_id, chosen.id, str(directory), **more))


def chosen_profile(profiles: Sequence[Profile], wanted: str | None) -> Profile:
    """Return the profile that is meant.

    Raises:
        UnknownProfile: there is none of this id or name.
        InvalidRequest: there are several, and nobody said which.
    """
    usable = [profile for profile in profiles if profile.status == "enabled"]
    if wanted is None:
        # Whoever has an agent of their own does not mean the one that plays scripts.
        found = [one for one in usable if one.runtime != "scripted"] or usable
    else:
        # A profile that is disabled is found by its id, so that the refusal says what is wrong.
        found = [profile for profile in profiles if profile.id == wanted]
        found = found or [profile for profile in usable if profile.name == wanted]
    if len(found) == 1:
        return found[0]
    if wanted is not None and not found:
        raise UnknownProfile(wanted)
    if not found:
        raise InvalidRequest("there is no profile", remedy="Add one with `spaced profiles add`.")
    names = ", ".join(f"{profile.name} ({profile.id})" for profile in found)
    raise InvalidRequest(
        f"several profiles could be meant: {names}", remedy="Choose one with --profile."
    )


def profile_of_agent(place: Place, profiles: Sequence[Profile], agent: str) -> Profile:
    """Return the profile of an agent, which is made if the agent is installed and has none.

    Of several the one is meant that was made for it by itself.

    Raises:
        InvalidRequest: it is not installed, or several profiles could be meant.
        NotFound: no agent is called like this.
    """
    found = [one for one in profiles if one.agent_name == agent and one.status == "enabled"]
    found = [one for one in found if one.id == profile_id_of(agent)] or found
    if found:
        return chosen_profile(found, None)
    detected = perform(place, calls.detected_profiles()).profiles
    one = next((one for one in detected if one.agent_id == agent), None)
    if one is None:
        raise not_installed(place, agent)
    if one.exists:
        raise InvalidRequest(
            f"the profile of the agent {agent!r} was disabled or deleted",
            remedy="Enable it with `spaced profiles enable`, or add one with `spaced agents add`.",
        )
    return perform(place, calls.create_profile(one.profile_id, one.definition))


def not_installed(place: Place, agent: str) -> SpacedError:
    """Return the error that the daemon does not find an agent, or that nobody knows it."""
    if all(one.id != agent for one in perform(place, calls.agents()).agents):
        return unknown_agent(agent)
    return InvalidRequest(
        f"the agent {agent!r} is not installed where the daemon looks",
        remedy=f"`spaced agents install {agent}` installs it; `spaced agents` shows what is there.",
    )
