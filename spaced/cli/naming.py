"""Sessions as people name them: by id, by the beginning of one, or as the last."""

from spaced.client import calls
from spaced.client.calls import perform
from spaced.client.place import Place
from spaced.refusals import InvalidRequest, UnknownSession

LAST = "last"
_MOST = 500


def session_named(place: Place, name: str) -> str:
    """Return the id of the session that is meant.

    Args:
        name: an id, the beginning of one, or `last` for the one that changed last.

    Raises:
        UnknownSession: there is none.
        InvalidRequest: several begin like this.
    """
    if name == LAST:
        page = perform(place, calls.sessions(limit=1))
        if not page.sessions:
            raise UnknownSession(LAST)
        return page.sessions[0].id
    try:
        return perform(place, calls.session(name)).id
    except UnknownSession:
        page = perform(place, calls.sessions(limit=_MOST))
        found = [session.id for session in page.sessions if session.id.startswith(name)]
        if len(found) == 1:
            return found[0]
        if not found:
            raise
        raise InvalidRequest(
            f"{len(found)} sessions begin with {name!r}", remedy="Write more of the id."
        ) from None
