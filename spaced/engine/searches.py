"""Searches titles and transcripts, newest first, with the words in their surroundings."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from spaced.domain.text_door import storable_text
from spaced.engine.search_hits import Hit, Place, hits_at
from spaced.engine.snippets import QueryWords
from spaced.log.read_models.items import ITEM
from spaced.log.read_models.sessions import SESSION
from spaced.log.table import Key, Row, Scalar
from spaced.refusals import InvalidRequest
from spaced.storage.protocol import Storage

LONGEST_QUERY: Final = 1000
"""Code points of a query."""
MOST_HITS: Final = 100
"""Hits that one search answers at most."""

_MOST_LOOKED_AT: Final = 20_000
"""Matches of one table among which those that meet the conditions are looked for."""
_GROWTH: Final = 8
_ROWS_AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found, newest first: of what was recorded last, in the order of its time.

    Attributes:
        is_complete: false if so many places hold the words that those which meet the conditions
            were looked for among the newest ones only.
    """

    hits: Sequence[Hit]
    is_complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conditions:
    """What a hit has to meet beside its words; times in milliseconds since the epoch."""

    profile_id: str | None
    directory: str | None
    since: int | None
    until: int | None

    @property
    def are_none(self) -> bool:
        return not self.of_session and self.since is None and self.until is None

    @property
    def of_session(self) -> dict[str, Scalar]:
        wanted = {"agent_id": self.profile_id, "directory": self.directory}
        return {k: storable_text(v) for k, v in wanted.items() if v is not None}

    def allow(self, session: Row, at: int) -> bool:
        return (
            session["visibility"] != "hidden"
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
            and all(session[name] == value for name, value in self.of_session.items())
        )


_Places: TypeAlias = tuple[list[Place], bool]
_Sift: TypeAlias = Callable[[Sequence[Key]], Awaitable[Iterable[Place]]]


class Searches:
    """Finds sessions and items by their words."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def search(
        self,
        query: str,
        *,
        profile_id: str | None = None,
        directory: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int = 20,
    ) -> SearchResult:
        """Find what holds every word of a query; words are what `Storage.search` says.

        Deleted sessions are never found; archived ones are. A title has the time at which its
        session changed last.

        Args:
            since: only what is not older, in milliseconds since the epoch.
            until: only what is older.
            limit: from 1 to `MOST_HITS`.

        Raises:
            UnusableQuery: the query holds no word.
            InvalidRequest: the query is too long, or the limit is another one.
        """
        if len(query) > LONGEST_QUERY:
            raise InvalidRequest(f"a query of {len(query):,} characters is over {LONGEST_QUERY:,}")
        if not 1 <= limit <= MOST_HITS:
            raise InvalidRequest(f"a limit of {limit} hits is not one of 1 to {MOST_HITS}")
        words = QueryWords(query)
        wanted = _Conditions(profile_id=profile_id, directory=directory, since=since, until=until)
        (items, all_items), (titles, all_titles) = await asyncio.gather(
            self._items(query, wanted, limit), self._titles(query, wanted, limit)
        )
        # Stable: what began at the same moment stays in the storage's order.
        newest = sorted([*items, *titles], key=lambda place: place.at, reverse=True)[:limit]
        hits = await hits_at(self._storage, newest, words)
        return SearchResult(hits=hits, is_complete=all_items and all_titles)

    async def _items(self, query: str, wanted: _Conditions, limit: int) -> _Places:
        async def sift(keys: Sequence[Key]) -> Iterable[Place]:
            session_keys = list(dict.fromkeys(key[:1] for key in keys))
            found = await self._storage.get_rows_of({ITEM.name: keys, SESSION.name: session_keys})
            sessions = {row["id"]: row for row in found[SESSION.name].rows}
            places = (
                Place(session=session, item=row)
                for row in found[ITEM.name].rows
                if (session := sessions.get(row["session_id"])) is not None
            )
            return (place for place in places if wanted.allow(place.session, place.at))

        at_first = limit if wanted.are_none else _GROWTH * limit
        return await self._look(ITEM.name, query, {}, sift, limit=limit, at_first=at_first)

    async def _titles(self, query: str, wanted: _Conditions, limit: int) -> _Places:
        async def sift(keys: Sequence[Key]) -> Iterable[Place]:
            rows = (await self._storage.get_rows(SESSION.name, keys)).rows
            places = (Place(session=row) for row in rows)
            return (place for place in places if wanted.allow(place.session, place.at))

        where = wanted.of_session
        return await self._look(SESSION.name, query, where, sift, limit=limit, at_first=limit)

    async def _look(
        self,
        table: str,
        query: str,
        where: Mapping[str, Scalar],
        sift: _Sift,
        *,
        limit: int,
        at_first: int,
    ) -> _Places:
        """Go through the matches of a table until enough of them meet the conditions."""
        places: list[Place] = []
        seen: set[Key] = set()
        asked = at_first
        while True:
            found = (await self._storage.search(table, query, where=where, limit=asked)).keys
            new = [key for key in map(tuple, found) if key not in seen]
            for start in range(0, len(new), _ROWS_AT_ONCE):
                places += await sift(new[start : start + _ROWS_AT_ONCE])
                if len(places) >= limit:
                    return places[:limit], True
            if len(found) < asked or asked >= _MOST_LOOKED_AT:
                return places, len(found) < asked
            seen.update(new)
            asked = min(_GROWTH * asked, _MOST_LOOKED_AT)
