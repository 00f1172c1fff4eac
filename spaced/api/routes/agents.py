"""Agents: which ones are known, and which of them this machine has."""

import asyncio

import msgspec

from spaced.agents.entries import Entry
from spaced.agents.finding import FoundAgent
from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.domain.profile import Profile
from spaced.wire import reports

ROUTES = RouteTable("agents")


@ROUTES.get("/v1/agents")
async def list_agents(services: Services) -> reports.AgentList:
    """List the agents that are known, and what the daemon's machine has of each."""
    catalogue = await asyncio.to_thread(services.agents.catalogue)
    found = await asyncio.to_thread(services.agents.look, catalogue.entries)
    return reports.AgentList(
        agents=tuple(map(agent_shape, found)), problems=tuple(catalogue.broken)
    )


@ROUTES.get("/v1/profiles/detected")
async def list_detected_profiles(services: Services) -> reports.DetectedProfileList:
    """List a profile for each agent that is installed, made or not."""
    found = await asyncio.to_thread(services.agents.look)
    installed = [(one.entry, one.profile) for one in found]
    return reports.DetectedProfileList(
        profiles=tuple(
            [
                await _detected(services, entry, profile)
                for entry, profile in installed
                if profile is not None
            ]
        )
    )


def agent_shape(found: FoundAgent) -> reports.Agent:
    """Return an agent as clients see it."""
    entry = found.entry
    return reports.Agent(
        id=entry.id,
        name=entry.name,
        description=entry.description,
        website=entry.website,
        latest=entry.version,
        program=found.program,
        installed=found.version,
        login=found.login,
        log_in=entry.launch.login.how,
        problems=tuple(found.problems),
        hints=tuple(found.hints),
    )


async def _detected(services: Services, entry: Entry, profile: Profile) -> reports.DetectedProfile:
    return reports.DetectedProfile(
        agent_id=entry.id,
        profile_id=entry.profile_id,
        exists=await services.engine.profiles.is_taken(entry.profile_id),
        definition=msgspec.to_builtins(profile),
    )
