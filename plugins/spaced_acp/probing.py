"""Trying an agent out: it is started, greeted and ended, and no conversation is begun."""

from spaced.plugin_api import ChildRequest, JsonObject, Profile, RuntimeServices, Tasks
from spaced_acp.calls import Caller
from spaced_acp.handshake import greet
from spaced_acp.link import AgentLink, LinkEnding
from spaced_acp.messages import METHOD_NOT_FOUND, Notification, Request
from spaced_acp.options import AcpOptions
from spaced_acp.starting import called


async def probe_agent(
    request: ChildRequest, profile: Profile, options: AcpOptions, services: RuntimeServices
) -> JsonObject:
    """Return what an agent tells of itself.

    Raises:
        RuntimeProblem: it could not serve a session.
    """
    tasks = Tasks(services.log)
    link: AgentLink | None = None
    try:
        link = await AgentLink.start(request, _Deaf(), services, tasks)
        caller = Caller(link=link, clock=services.clock, tasks=tasks, agent=called(profile))
        return (await greet(caller, options)).as_details()
    finally:
        if link is not None:
            await link.stop(0)
        await tasks.close()


class _Deaf:
    """Takes nothing that an agent says beside its answers."""

    async def notified(self, notification: Notification) -> None:
        """Take nothing."""

    async def asked(self, request: Request, link: AgentLink) -> None:
        """Offer nothing."""
        link.refuse(request.id, METHOD_NOT_FOUND, f"spaced does not offer {request.method!r}")

    async def ended(self, ending: LinkEnding, link: AgentLink) -> None:
        """Take note of nothing: the answer that is waited for fails."""
