"""Search: titles, messages and what tools returned."""

from spaced.api.presenting import time_text
from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.clock import from_rfc3339
from spaced.engine.search_hits import Hit
from spaced.wire import reports, requests

ROUTES = RouteTable("search")


@ROUTES.get("/v1/search")
async def search(services: Services, *, query: requests.SearchQuery) -> reports.HitList:
    """Find what holds all words of a query, newest first."""
    found = await services.engine.searches.search(
        query.q,
        profile_id=query.profile,
        directory=query.directory,
        since=None if query.since is None else from_rfc3339(query.since),
        until=None if query.until is None else from_rfc3339(query.until),
        limit=query.limit,
    )
    return reports.HitList(hits=tuple(_hit(hit) for hit in found.hits), complete=found.is_complete)


def _hit(hit: Hit) -> reports.Hit:
    return reports.Hit(
        session_id=hit.session_id,
        run_id=hit.run_id,
        title=hit.title,
        directory=hit.directory,
        archived=hit.is_archived,
        item_id=hit.item_id,
        item_type=hit.item_type,
        role=hit.role,
        created_at=None if hit.created_at is None else time_text(hit.created_at),
        snippet=hit.snippet.text,
        matches=tuple((start, end) for start, end in hit.snippet.matches),
    )
