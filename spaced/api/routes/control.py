"""What a person does to a session at work."""

from spaced.api.presenting import live_shape
from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.domain.json_values import copy_object
from spaced.wire import requests, shapes

ROUTES = RouteTable("control")


@ROUTES.post("/v1/sessions/{session_id}/interrupt")
async def interrupt_session(services: Services, *, session_id: str) -> shapes.Interrupted:
    """End what a session is doing; its queue stays and is paused. A second one kills at once."""
    was_at_work = await services.engine.control.interrupt(session_id)
    return shapes.Interrupted(interrupted=was_at_work)


@ROUTES.post("/v1/sessions/{session_id}/wait")
async def wait_for_session(
    services: Services, *, session_id: str, query: requests.WaitTime
) -> shapes.Progress:
    """Wait until a session is idle, but no longer than this; then say how far it is."""
    progress = await services.engine.control.wait(session_id, timeout_ms=int(query.timeout * 1000))
    return shapes.Progress(
        done=progress.is_done,
        live=live_shape(progress.status),
        items=tuple(copy_object(item) for item in progress.items),
        running_tools=tuple(copy_object(item) for item in progress.running_tools),
        pending=progress.pending,
    )


@ROUTES.post("/v1/sessions/{session_id}/reset", status=204)
async def reset_session(services: Services, *, session_id: str) -> None:
    """Begin the provider's conversation anew; the transcript stays. Refused while busy."""
    await services.engine.control.reset(session_id)


@ROUTES.post("/v1/sessions/{session_id}/compact", status=204)
async def compact_session(services: Services, *, session_id: str) -> None:
    """Let the connected agent shorten its conversation."""
    await services.engine.control.compact(session_id)
