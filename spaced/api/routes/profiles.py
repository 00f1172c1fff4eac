"""Profiles: named configurations of agents, with revisions."""

from dataclasses import replace
from typing import Any

import msgspec
from msgspec import UNSET

from spaced.api.presenting import problem_object, profile_shape
from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.domain.json_values import copy_object
from spaced.domain.profile import Profile
from spaced.engine.profiles import ProfileRecord
from spaced.errors import StaleRevision
from spaced.wire import requests, shapes

ROUTES = RouteTable("profiles")


@ROUTES.get("/v1/profiles")
async def list_profiles(services: Services) -> shapes.ProfileList:
    """List all profiles, by name."""
    records = await services.engine.profiles.list()
    return shapes.ProfileList(profiles=tuple(profile_shape(record) for record in records))


@ROUTES.post("/v1/profiles", status=201)
async def create_profile(services: Services, *, body: requests.NewProfile) -> shapes.Profile:
    """Create a profile; the same request with the same id gives the same profile again."""
    fields: dict[str, Any] = msgspec.structs.asdict(body)
    profile_id = fields.pop("id")
    record = await services.engine.profiles.create(Profile(**fields), profile_id=profile_id)
    return profile_shape(record)


@ROUTES.get("/v1/profiles/{profile_id}")
async def get_profile(services: Services, *, profile_id: str) -> shapes.Profile:
    """Return a profile."""
    return profile_shape(await services.engine.profiles.get(profile_id))


@ROUTES.put("/v1/profiles/{profile_id}")
async def define_profile(
    services: Services,
    *,
    profile_id: str,
    body: requests.ProfileDefinition,
    revision: int | None,
) -> shapes.Profile:
    """Define a profile anew, as a whole."""
    wanted = Profile(**msgspec.structs.asdict(body))
    return profile_shape(await _change(services, profile_id, wanted, revision))


@ROUTES.patch("/v1/profiles/{profile_id}")
async def change_profile(
    services: Services, *, profile_id: str, body: requests.ProfileChanges, revision: int | None
) -> shapes.Profile:
    """Change some of a profile, enable it or disable it; what is left out stays as it is."""
    profiles = services.engine.profiles
    changes = {k: v for k, v in msgspec.structs.asdict(body).items() if v is not UNSET}
    enabled = changes.pop("enabled", None)
    record = await profiles.get(profile_id)
    if changes:
        # Against what was read here: a change of somebody else in between must not be lost.
        expected = record.revision if revision is None else revision
        wanted = replace(record.profile, **changes)
        record = await _change(services, profile_id, wanted, expected)
    if enabled is not None:
        record = await (profiles.enable if enabled else profiles.disable)(profile_id)
    return profile_shape(record)


@ROUTES.delete("/v1/profiles/{profile_id}")
async def delete_profile(services: Services, *, profile_id: str) -> None:
    """Delete a profile that no session uses; one in use can be disabled."""
    await services.engine.profiles.delete(profile_id)


@ROUTES.post("/v1/profiles/{profile_id}/probe")
async def probe_profile(services: Services, *, profile_id: str) -> shapes.Probe:
    """Ask the profile's runtime whether its agent could serve a session now."""
    record = await services.engine.profiles.get(profile_id)
    report = await services.engine.probe(record.profile)
    return shapes.Probe(
        usable=report.problem is None,
        problem=None if report.problem is None else problem_object(report.problem),
        details=copy_object(report.details),
    )


async def _change(
    services: Services, profile_id: str, wanted: Profile, expected: int | None
) -> ProfileRecord:
    profiles = services.engine.profiles
    try:
        return await profiles.change(profile_id, wanted, expected_revision=expected)
    except StaleRevision as stale:
        # The caller decides anew on what there is now, so it is told with the refusal.
        stale.current = msgspec.to_builtins(profile_shape(await profiles.get(profile_id)))
        raise
