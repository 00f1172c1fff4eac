"""Reads transcripts: a screenful by index at any length, or the whole."""

from collections.abc import Sequence
from dataclasses import dataclass

from spaced.domain.json_values import JsonObject
from spaced.errors import UnknownItem
from spaced.log.fold import fold_transcript
from spaced.log.read_models.items import ITEM
from spaced.log.table import Row
from spaced.storage.protocol import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some neighbouring items of a transcript, in its order.

    Attributes:
        before: the item to ask for next, to get what stands before these; `None` at the
            transcript's beginning.
        as_of: the log position of which they are true.
    """

    items: Sequence[JsonObject]
    before: str | None
    as_of: int


async def newest_items(
    storage: Storage, session_id: str, *, limit: int, before: str | None = None
) -> Page:
    """Return the newest items of a session, or the newest of those before an item.

    It reads the rows and events of these items alone, however long the session is.

    Raises:
        CorruptStream: the session's stream contradicts itself.
        UnknownItem: the session has no item `before`.
    """
    after = None if before is None else await _item_row(storage, session_id, before)
    found = await storage.list_rows(
        ITEM.name, where={"session_id": session_id}, order="newest", after=after, limit=limit
    )
    if not found.rows:
        return Page(items=(), before=None, as_of=found.as_of_position)
    oldest = found.rows[-1]
    events = await storage.read_stream(
        str(oldest["stream"]),
        session_id=session_id,
        item_ids=[str(row["item_id"]) for row in found.rows],
    )
    is_first = oldest["ordinal"] == 1
    return Page(
        # Events that came between the two reads belong to what follows the page.
        items=fold_transcript([e for e in events if e.position <= found.as_of_position]).items(),
        before=None if is_first else str(oldest["item_id"]),
        as_of=found.as_of_position,
    )


async def _item_row(storage: Storage, session_id: str, item_id: str) -> Row:
    found = await storage.get_rows(ITEM.name, [(session_id, item_id)])
    if not found.rows:
        raise UnknownItem(f"session {session_id!r} has no item {item_id!r}")
    return found.rows[0]


async def all_items(storage: Storage, stream: str, session_id: str) -> Sequence[JsonObject]:
    """Return the whole transcript of a session.

    Raises:
        CorruptStream: the session's stream contradicts itself.
    """
    return fold_transcript(await storage.read_stream(stream, session_id=session_id)).items()
