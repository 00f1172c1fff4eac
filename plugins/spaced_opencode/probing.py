"""Tells whether a profile's server could serve a session now, and leaves nothing running."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from spaced.plugin_api import ChildRequest, JsonObject, Profile, RuntimeServices, Tasks
from spaced_opencode.catalogue import read_catalogue
from spaced_opencode.local_server import LocalServer
from spaced_opencode.options import password_of, read_options
from spaced_opencode.server_api import ServerApi


async def probe_server(
    profile: Profile, environment: Mapping[str, str], services: RuntimeServices
) -> JsonObject:
    """Return what a profile's server says about itself.

    Raises:
        RuntimeProblem: it cannot be reached, or does not offer what the profile wants.
    """
    options = read_options(profile)
    password = password_of(options, environment)
    folder = await asyncio.to_thread(_folder, services.state_folder)
    if options.url is not None:
        return await _ask(ServerApi(options.url, password=password, directory=folder), profile)
    request = ChildRequest(
        execution_id=f"probe-{uuid4().hex}",
        command=profile.command,
        directory=folder,
        environment=environment,
    )
    tasks = Tasks(services.log)
    try:
        server = await LocalServer.start(profile.command, request, services, tasks)
        try:
            api = ServerApi(server.url, password=server.password, directory=folder)
            return await _ask(api, profile)
        finally:
            await server.stop(0)
    finally:
        await tasks.close()


async def _ask(api: ServerApi, profile: Profile) -> JsonObject:
    try:
        catalogue = await read_catalogue(api)
    finally:
        await api.close()
    catalogue.require_model(profile.model)
    catalogue.require_agent(read_options(profile).agent)
    return {
        "version": catalogue.version,
        "models": len(catalogue.models),
        "modes": list(catalogue.agents),
    }


def _folder(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return str(folder)
