"""Lists sessions: a page costs the same however many there are."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from spaced.domain.run import Run
from spaced.domain.session import Session
from spaced.domain.text_door import storable_text
from spaced.log.read_models.runs import RUN, run_of
from spaced.log.read_models.sessions import SESSION, session_of
from spaced.log.table import Row, Scalar
from spaced.refusals import BadCursor, InvalidRequest, UnknownSession
from spaced.storage.protocol import Storage

LARGEST_PAGE: Final = 500
"""Sessions on one page at most."""

_LONGEST: Final = 2000
_INTEGERS: Final = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSession:
    """A session as a list shows it, with its run.

    How many prompts it has pending is not told: by index they are counted for one run at a time,
    so a page would cost a query for each of its sessions.

    Attributes:
        damage: why its stream cannot be read further.
    """

    session: Session
    run: Run
    damage: str | None

    @property
    def directory(self) -> str | None:
        """The folder that it works in."""
        return self.session.directory or self.run.directory

    @property
    def is_primary(self) -> bool:
        """Whether it answers for its run now."""
        return self.run.primary_session_id == self.session.id


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCursor:
    """Where a page ended: the last row's place, which is good with any conditions."""

    id: str
    updated_at: int

    def __str__(self) -> str:
        text = msgspec.json.encode((self.id, self.updated_at))
        return base64.urlsafe_b64encode(text).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> "ListCursor":
        """Read a cursor.

        Raises:
            BadCursor: it is none that was given out.
        """
        try:
            padded = text[:_LONGEST] + "=" * (-len(text) % 4)
            found = base64.b64decode(padded, altchars=b"-_", validate=True)
            name, updated_at = msgspec.json.decode(found, type=tuple[str, int])
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            raise BadCursor(_refusal(text)) from error
        cursor = cls(id=name, updated_at=updated_at)
        if str(cursor) != text or not -_INTEGERS <= updated_at < _INTEGERS:
            raise BadCursor(_refusal(text))
        return cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """Sessions, the one that changed last first.

    Attributes:
        next: where the next page begins; `None` if this is the last.
    """

    entries: Sequence[ListedSession]
    next: ListCursor | None


class SessionLists:
    """Reads sessions from their rows."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def get(self, session_id: str) -> ListedSession:
        """Return one session.

        Raises:
            UnknownSession: there is none of this id, or it was deleted.
        """
        key = (storable_text(session_id),)
        # In one trip for a chat, whose run has the id of its session.
        found = await self._storage.get_rows_of({SESSION.name: [key], RUN.name: [key]})
        rows, runs = found[SESSION.name].rows, found[RUN.name].rows
        if rows and rows[0]["stream"] != key[0]:
            runs = (await self._storage.get_rows(RUN.name, [(str(rows[0]["stream"]),)])).rows
        # No run: it was removed for good between the two trips.
        if not rows or not runs or "hidden" in (rows[0]["visibility"], runs[0]["visibility"]):
            raise UnknownSession(session_id)
        return _entry(rows[0], runs[0])

    async def page(
        self,
        *,
        status: str | None = None,
        directory: str | None = None,
        profile_id: str | None = None,
        archived: bool = False,
        limit: int = 50,
        after: ListCursor | None = None,
    ) -> SessionPage:
        """Return a page of sessions that meet all conditions; deleted ones never do.

        A session that changes while somebody turns the pages moves to the front, where the first
        page shows it. All others come once, whatever is created meanwhile. A page may hold fewer
        than `limit` sessions although there is a next one.

        Args:
            status: found by looking at one session after the other, so a rare one takes longer.
            directory: found by index, as is `profile_id`; with both, one of them is.
            limit: from 1 to `LARGEST_PAGE`.

        Raises:
            InvalidRequest: the limit is another one.
        """
        if not 1 <= limit <= LARGEST_PAGE:
            raise InvalidRequest(f"a page of {limit} sessions is not one of 1 to {LARGEST_PAGE}")
        wanted = {"status": status, "directory": directory, "agent_id": profile_id}
        where: dict[str, Scalar] = {"visibility": "archived" if archived else "listed"}
        where |= {k: storable_text(v) for k, v in wanted.items() if v is not None}
        start = None if after is None else {**where, "id": after.id, "updated_at": after.updated_at}
        found = await self._storage.list_rows(
            SESSION.name, where=where, order=_order(where), after=start, limit=limit + 1
        )
        rows = found.rows[:limit]
        is_last = len(found.rows) <= limit
        return SessionPage(
            entries=await self._entries(rows), next=None if is_last else _place(rows[-1])
        )

    async def _entries(self, rows: Sequence[Row]) -> Sequence[ListedSession]:
        keys = list(dict.fromkeys((str(row["stream"]),) for row in rows))
        if not keys:
            return []
        runs = {str(run["id"]): run for run in (await self._storage.get_rows(RUN.name, keys)).rows}
        found = ((row, runs.get(str(row["stream"]))) for row in rows)
        # A run may have been deleted, even removed for good, since its sessions were found.
        return [_entry(row, run) for row, run in found if run and run["visibility"] != "hidden"]


def _order(where: Mapping[str, Scalar]) -> str:
    if "directory" in where:
        return "latest_in_directory"
    return "latest_of_agent" if "agent_id" in where else "latest"


def _refusal(text: object) -> str:
    return f"{str(text)[:60]!r} is not a cursor of a list"


def _place(row: Row) -> ListCursor:
    return ListCursor(id=str(row["id"]), updated_at=int(row["updated_at"] or 0))


def _entry(row: Row, run: Row) -> ListedSession:
    damage = run["damage"]
    return ListedSession(
        session=session_of(row),
        run=run_of(run),
        damage=None if damage is None else str(damage),
    )
