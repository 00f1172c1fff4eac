"""Prompts: admitted durably, and changed while they wait."""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from spaced.api.presenting import prompt_shape
from spaced.api.routing import Reply, RouteTable
from spaced.api.services import Services
from spaced.domain.json_values import JsonObject
from spaced.engine.prompts import Address, PromptRequest
from spaced.refusals import InvalidPrompt, InvalidRequest
from spaced.wire import requests, shapes

ROUTES = RouteTable("prompts")


@ROUTES.post("/v1/sessions/{session_id}/prompts", status=202)
async def admit_prompt(
    services: Services, *, session_id: str, body: requests.NewPrompt
) -> Reply[shapes.Receipt]:
    """Admit a prompt; the answer means that it is on disk.

    A repeat with the same id gets the same receipt, whatever has become of the prompt since.
    """
    request = PromptRequest(
        parts=_parts(body.text, body.parts),
        delivery=body.delivery,
        prompt_id=body.id,
        wake=body.wake,
        replaces_turn=body.on_busy == "replace",
    )
    address = Address(kind="session", id=session_id)
    admitted = await services.engine.prompts.admit(address, request)
    receipt = admitted.receipt
    value = shapes.Receipt(
        id=receipt.id,
        session_id=receipt.session_id,
        admitted_version=receipt.admitted_version,
        delivery=receipt.delivery,
        queue_index=receipt.queue_index,
    )
    # The session begins once the client has its receipt, so that no answer overtakes it.
    return Reply(value=value, then=admitted.claim.go)


@ROUTES.get("/v1/sessions/{session_id}/prompts")
async def list_prompts(services: Services, *, session_id: str) -> shapes.PromptList:
    """List the pending prompts of a session, in the order of its queue."""
    return await _queue(services, session_id)


@ROUTES.patch("/v1/sessions/{session_id}/prompts/{prompt_id}")
async def change_prompt(
    services: Services, *, session_id: str, prompt_id: str, body: requests.PromptChanges
) -> shapes.Prompt:
    """Change a pending prompt, or move it within the queue."""
    prompt = await services.engine.queue.edit(
        session_id,
        prompt_id,
        parts=_changed_parts(body),
        delivery=None if isinstance(body.delivery, UnsetType) else body.delivery,
        to_index=None if isinstance(body.index, UnsetType) else body.index,
    )
    return prompt_shape(prompt)


@ROUTES.delete("/v1/sessions/{session_id}/prompts/{prompt_id}")
async def cancel_prompt(services: Services, *, session_id: str, prompt_id: str) -> None:
    """Take a pending prompt out of the queue; it will not be delivered."""
    await services.engine.queue.cancel(session_id, prompt_id)


@ROUTES.post("/v1/sessions/{session_id}/prompts/{prompt_id}/send-now")
async def send_prompt_now(services: Services, *, session_id: str, prompt_id: str) -> shapes.Prompt:
    """Make a pending prompt a steer that goes with the next chance; it interrupts nothing."""
    return prompt_shape(await services.engine.queue.send_now(session_id, prompt_id))


@ROUTES.post("/v1/sessions/{session_id}/pause")
async def pause_queue(services: Services, *, session_id: str) -> shapes.PromptList:
    """Let pending prompts wait until somebody resumes the queue or prompts again."""
    await services.engine.queue.pause(session_id)
    return await _queue(services, session_id)


@ROUTES.post("/v1/sessions/{session_id}/resume")
async def resume_queue(services: Services, *, session_id: str) -> shapes.PromptList:
    """Let the queue go on in its order, held prompts too."""
    await services.engine.queue.resume(session_id)
    return await _queue(services, session_id)


async def _queue(services: Services, session_id: str) -> shapes.PromptList:
    pending = await services.engine.queue.pending(session_id)
    return shapes.PromptList(prompts=tuple(prompt_shape(prompt) for prompt in pending))


def _changed_parts(body: requests.PromptChanges) -> Sequence[JsonObject] | None:
    text = None if body.text is UNSET else body.text
    parts = None if body.parts is UNSET else body.parts
    if text is None and parts is None:
        return None
    return _parts(text, parts)


def _parts(text: str | None, parts: tuple[requests.JsonValue, ...] | None) -> Sequence[JsonObject]:
    if text is not None and parts is not None:
        raise InvalidRequest("the prompt has 'text' and 'parts'", remedy="Send one of them.")
    if text is not None:
        return ({"type": "text", "text": text},)
    if parts is None:
        raise InvalidPrompt("the prompt has neither 'text' nor 'parts'")
    return parts
