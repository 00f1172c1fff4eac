"""Lists sessions: a page costs the same however many there are."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from spaced.domain.run import Run
from spaced.domain.session import Session
from spaced.log.read_models.runs import RUN, run_of
from spaced.log.read_models.sessions import SESSION, session_of
from spaced.log.table import Row, Scalar
from spaced.refusals import BadCursor, UnknownSession
from spaced.storage.protocol import Storage

_LONGEST = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSession:
    """A session as a list shows it, with its run.

    Attributes:
        damage: why its stream cannot be read further.
    """

    session: Session
    run: Run
    damage: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCursor:
    """Where a page ended: the last row's place in its listing."""

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
            padded = text[:_LONGEST].encode("ascii") + b"=="
            found = base64.b64decode(padded, altchars=b"-_", validate=True)
            name, updated_at = msgspec.json.decode(found, type=tuple[str, int])
        except (ValueError, msgspec.MsgspecError) as error:
            raise BadCursor(f"{text[:60]!r} is not a cursor of a list") from error
        return cls(id=name, updated_at=updated_at)


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
        rows = (await self._storage.get_rows(SESSION.name, [(session_id,)])).rows
        if not rows or rows[0]["visibility"] == "hidden":
            raise UnknownSession(session_id)
        return (await self._entries(rows))[0]

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
        """Return a page of sessions that meet all conditions; deleted ones never do."""
        where: dict[str, Scalar] = {"visibility": "archived" if archived else "listed"}
        wanted = {"status": status, "directory": directory, "agent_id": profile_id}
        where |= {name: value for name, value in wanted.items() if value is not None}
        start = None
        if after is not None:
            start = {**where, "id": after.id, "updated_at": after.updated_at}
        found = await self._storage.list_rows(
            SESSION.name, where=where, order="latest", after=start, limit=limit + 1
        )
        rows = found.rows[:limit]
        last = None
        if len(found.rows) > limit:
            last = ListCursor(id=str(rows[-1]["id"]), updated_at=int(rows[-1]["updated_at"] or 0))
        return SessionPage(entries=await self._entries(rows), next=last)

    async def _entries(self, rows: Sequence[Row]) -> Sequence[ListedSession]:
        keys = list(dict.fromkeys((str(row["stream"]),) for row in rows))
        runs = {str(run["id"]): run for run in (await self._storage.get_rows(RUN.name, keys)).rows}
        return [_entry(row, runs[str(row["stream"])]) for row in rows]


def _entry(row: Row, run: Row) -> ListedSession:
    damage = run["damage"]
    return ListedSession(
        session=session_of(row),
        run=run_of(run),
        damage=None if damage is None else str(damage),
    )
