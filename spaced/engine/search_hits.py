"""Makes hits of the places where a search found its words, reading no more than their items."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spaced.domain.json_values import JsonObject
from spaced.domain.session_items import searched_text
from spaced.engine.snippets import QueryWords, Snippet
from spaced.errors import CorruptStream, InvalidBody
from spaced.log.fold import fold_transcript
from spaced.log.read_models.sessions import session_of
from spaced.log.record import RecordedEvent
from spaced.log.table import Row
from spaced.storage.protocol import Storage

_QUICK: Final = 256 * 1024
"""Bytes of events that are folded on the event loop; more would keep others waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A title or an item that holds all the words.

    Attributes:
        title: the session's.
        at: when the item began, or the session with this title changed last, in milliseconds since
            the epoch.
        item_id: of the transcript's item; `None` if the title matches.
        snippet: the text around the first word that matches; empty for an item that is damaged.
    """

    session_id: str
    run_id: str
    title: str | None
    directory: str | None
    is_archived: bool
    at: int
    snippet: Snippet
    item_id: str | None = None
    item_type: str | None = None
    role: str | None = None

    @property
    def created_at(self) -> int | None:
        """When the item began, where it is one."""
        return None if self.item_id is None else self.at


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the words were found: rows of a session, and of an item if it is not the title."""

    session: Row
    item: Row | None = None

    @property
    def at(self) -> int:
        column = "updated_at" if self.item is None else "created_at"
        return int((self.item or self.session)[column] or 0)


async def hits_at(storage: Storage, places: Sequence[Place], words: QueryWords) -> Sequence[Hit]:
    """Return places as hits, in their order; an item that is gone for good by now is none."""
    hits = {_name(place): _title_hit(place, words) for place in places if place.item is None}
    wanted: dict[tuple[str, str], list[str]] = defaultdict(list)
    for place in places:
        if place.item is not None:
            session = place.session
            wanted[str(session["stream"]), str(session["id"])].append(str(place.item["item_id"]))
    events = await storage.read_items(wanted) if wanted else ()
    of_items = [place for place in places if place.item is not None]
    if sum(len(event.body) for event in events) > _QUICK:
        found = await asyncio.to_thread(_item_hits, of_items, events, words)
    else:
        found = _item_hits(of_items, events, words)
    hits.update({(hit.session_id, hit.item_id): hit for hit in found})
    return [hit for place in places if (hit := hits.get(_name(place))) is not None]


def _item_hits(
    places: Sequence[Place], events: Sequence[RecordedEvent], words: QueryWords
) -> Sequence[Hit]:
    told: dict[tuple[str | None, str | None], list[RecordedEvent]] = defaultdict(list)
    for event in events:
        told[event.session_id, event.item_id].append(event)
    return [
        _item_hit(place, name[1], told[name], words)
        for place in places
        if (name := _name(place)) in told
    ]


def _item_hit(
    place: Place, item_id: str | None, events: Sequence[RecordedEvent], words: QueryWords
) -> Hit:
    item: JsonObject = {}
    try:
        item = next(iter(fold_transcript(events).items()), {})
        snippet = words.snippet(searched_text(item))
    except (CorruptStream, InvalidBody):
        snippet = Snippet(text="")
    return _hit(
        place,
        snippet,
        item_id=item_id,
        item_type=_text_or_none(item.get("type")),
        role=_text_or_none(item.get("role")),
    )


def _title_hit(place: Place, words: QueryWords) -> Hit:
    return _hit(place, words.snippet(session_of(place.session).title or ""))


def _hit(place: Place, snippet: Snippet, **of_item: str | None) -> Hit:
    session = place.session
    return Hit(
        session_id=str(session["id"]),
        run_id=str(session["stream"]),
        title=session_of(session).title,
        directory=_text_or_none(session["directory"]) or None,
        is_archived=session["visibility"] == "archived",
        at=place.at,
        snippet=snippet,
        **of_item,
    )


def _name(place: Place) -> tuple[str, str | None]:
    item_id = None if place.item is None else str(place.item["item_id"])
    return str(place.session["id"]), item_id


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
