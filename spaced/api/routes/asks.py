"""Permissions, questions and grants."""

import msgspec

from spaced.api.presenting import ask_shape, time_text
from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.domain.ask import AskKind
from spaced.refusals import UnknownAsk
from spaced.wire import requests, shapes

ROUTES = RouteTable("asks")


@ROUTES.get("/v1/permissions")
async def list_permissions(services: Services, *, query: requests.AskFilter) -> shapes.AskList:
    """List the permission requests that wait for an answer."""
    return await _open(services, "permission", query)


@ROUTES.get("/v1/permissions/{ask_id}")
async def get_permission(services: Services, *, ask_id: str) -> shapes.Ask:
    """Return a permission request, also one that is answered or expired."""
    return await _one(services, "permission", ask_id)


@ROUTES.post("/v1/permissions/{ask_id}")
async def answer_permission(
    services: Services, *, ask_id: str, body: requests.PermissionReply
) -> shapes.Ask:
    """Answer a permission request; the first answer holds."""
    ask = await services.engine.asks.answer_permission(
        ask_id, option_id=body.option_id, digest=body.digest, message=body.message
    )
    return ask_shape(ask)


@ROUTES.get("/v1/questions")
async def list_questions(services: Services, *, query: requests.AskFilter) -> shapes.AskList:
    """List the questions that wait for an answer."""
    return await _open(services, "question", query)


@ROUTES.get("/v1/questions/{ask_id}")
async def get_question(services: Services, *, ask_id: str) -> shapes.Ask:
    """Return a question, also one that is answered or expired."""
    return await _one(services, "question", ask_id)


@ROUTES.post("/v1/questions/{ask_id}")
async def answer_question(
    services: Services, *, ask_id: str, body: requests.QuestionReply
) -> shapes.Ask:
    """Answer a question; the first answer holds. After its turn it is sent as a prompt."""
    return ask_shape(await services.engine.asks.answer_question(ask_id, body.answers))


@ROUTES.get("/v1/grants")
async def list_grants(services: Services) -> shapes.GrantList:
    """List the standing permissions."""
    grants = await services.engine.asks.grants()
    return shapes.GrantList(
        grants=tuple(
            shapes.Grant(
                id=str(grant["id"]),
                profile_id=str(grant["profile_id"]),
                directory=str(grant["directory"]),
                tool_kind=str(grant["tool_kind"]),
                match=msgspec.json.decode(str(grant["match"])),
                created_at=time_text(int(str(grant["created_at"]))),
            )
            for grant in grants
        )
    )


@ROUTES.delete("/v1/grants/{grant_id}")
async def revoke_grant(services: Services, *, grant_id: str) -> None:
    """Withdraw a standing permission."""
    await services.engine.asks.revoke(grant_id)


async def _open(services: Services, kind: AskKind, query: requests.AskFilter) -> shapes.AskList:
    asks = await services.engine.asks.open(query.session)
    return shapes.AskList(asks=tuple(ask_shape(ask) for ask in asks if ask.kind == kind))


async def _one(services: Services, kind: AskKind, ask_id: str) -> shapes.Ask:
    ask = await services.engine.asks.get(ask_id)
    if ask.kind != kind:
        raise UnknownAsk(ask_id)
    return ask_shape(ask)
