"""What an agent has to be told of a conversation that its provider does not know."""

from typing import Final

from spaced.domain.history import render_history
from spaced.domain.json_values import JsonObject
from spaced.engine.held_run import HeldRun
from spaced.engine.transcripts import newest_items
from spaced.storage.protocol import Storage

_MOST_ITEMS: Final = 500


async def history_for(storage: Storage, held: HeldRun, session_id: str, turn_id: str) -> str:
    """Return the transcript as text if the session owes it to its agent, else nothing.

    Args:
        turn_id: the turn that it goes with; what that shows already is left out.
    """
    session = held.session(session_id)
    if session is None or not session.owes_history:
        return ""
    items: list[JsonObject] = []
    earlier = session.metadata.get("follow_up_of")
    for source in (earlier, session_id):
        if isinstance(source, str):
            page = await newest_items(storage, source, limit=_MOST_ITEMS)
            items += page.items
    return render_history([item for item in items if item.get("turn_id") != turn_id])
