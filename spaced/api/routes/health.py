"""Whether the daemon is there, and what it is doing."""

import hashlib
import hmac

from spaced.api.presenting import live_shape, problem_object
from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.api.storage_facts import storage_facts
from spaced.log.read_models.lives import PROMPTS
from spaced.wire import reports, requests

ROUTES = RouteTable("health")


@ROUTES.get("/v1/health")
async def health(services: Services, *, query: requests.Challenge) -> reports.Health:
    """Say that the daemon is there; open to everybody, and therefore nothing else.

    Whoever sends a `challenge` gets the proof that the daemon knows the access token.
    """
    proof = None
    if query.challenge is not None:
        key, text = services.facts.token.encode(), query.challenge.encode()
        proof = hmac.new(key, b"spaced-proof:" + text, hashlib.sha256).hexdigest()
    return reports.Health(status="ok", proof=proof)


@ROUTES.get("/v1/status")
async def status(services: Services) -> reports.Status:
    """Tell what the daemon is doing, where its data lie, and what it warns of."""
    engine, facts = services.engine, services.facts
    pending = await services.storage.list_rows(
        PROMPTS.table.name, where={"status": "pending"}, order="unfinished"
    )
    return reports.Status(
        version=facts.version,
        pid=facts.pid,
        started_at=facts.started_at,
        log_id=services.storage.log_id,
        head=services.streams.cursor(services.streams.head),
        active=tuple(
            reports.ActiveSession(session_id=session_id, live=live_shape(live))
            for session_id, live in engine.coordinator.active().items()
        ),
        pending_prompts=len(pending.rows),
        open_asks=services.streams.open_asks,
        problems={
            session_id: problem_object(error)
            for session_id, error in engine.coordinator.problems.items()
        },
        streams=services.streams.count,
        listeners=services.listeners(),
        storage=await storage_facts(services),
        limits=facts.limits,
        counters=dict(engine.counters),
        warnings=facts.warnings,
    )
