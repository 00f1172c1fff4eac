"""The table `session`: one row for each session, with all of its state but the items."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import msgspec

from spaced.domain.events.event import StreamFamily
from spaced.domain.events.run import RunDeleted, RunUpdated
from spaced.domain.events.transcript import AgentSessionCreated
from spaced.domain.run import Run
from spaced.domain.session import Session, apply_to_session, seed
from spaced.errors import CorruptStream
from spaced.log.fact import Fact
from spaced.log.read_models.items import ITEM, SESSION_NAME
from spaced.log.read_models.read_model import RowsInHand
from spaced.log.read_models.runs import RUN, run_of
from spaced.log.table import Column, Index, IndexColumn, Key, Row, Table

SESSION: Final = Table(
    name=SESSION_NAME,
    key=("id",),
    columns=(
        Column(name="id"),
        Column(name="stream"),
        Column(name="status"),
        Column(name="agent_id"),
        Column(name="directory"),
        Column(name="visibility"),
        Column(name="updated_at", type="integer"),
        Column(name="item_count", type="integer"),
        Column(name="state"),
    ),
    indexes=(
        Index(
            name="latest",
            columns=(
                IndexColumn(name="visibility"),
                IndexColumn(name="updated_at", descending=True),
            ),
        ),
        Index(
            name="latest_in_directory",
            columns=(
                IndexColumn(name="visibility"),
                IndexColumn(name="directory"),
                IndexColumn(name="updated_at", descending=True),
            ),
        ),
        Index(
            name="latest_of_agent",
            columns=(
                IndexColumn(name="visibility"),
                IndexColumn(name="agent_id"),
                IndexColumn(name="updated_at", descending=True),
            ),
        ),
        Index(name="agent", columns=(IndexColumn(name="agent_id"),)),
    ),
    text_columns=("title",),
    role="derived",
)

_READ = msgspec.json.Decoder(Session)


def session_of(row: Row) -> Session:
    """Return the session that a row of `session` holds."""
    return _READ.decode(str(row["state"]))


class Sessions:
    """Keeps `session` equal to the log."""

    table = SESSION

    def keys(self, fact: Fact) -> Iterable[tuple[str, Key]]:
        """The session that the fact is about; its run, for what it inherits; its item."""
        for session_id in _session_ids(fact):
            yield SESSION.name, (session_id,)
            yield RUN.name, (fact.stream,)
            if fact.item_id is not None:
                yield ITEM.name, (session_id, fact.item_id)

    def apply(self, fact: Fact, rows: RowsInHand) -> None:
        """Write the rows of the sessions that the fact changes."""
        for session_id in _session_ids(fact):
            self._apply_to(session_id, fact, rows)

    def _apply_to(self, session_id: str, fact: Fact, rows: RowsInHand) -> None:
        run_row = rows.get(RUN.name, (fact.stream,))
        row = rows.get(SESSION.name, (session_id,))
        if row is not None and row["stream"] != fact.stream:
            row = None  # another run's; whoever opens it here meets a key that is taken
        if run_row is None:
            raise CorruptStream(f"{fact.stream!r} holds {fact.event.kind!r} before `run-created`")
        run = run_of(run_row)
        if row is None:
            self._open(fact, session_id, run, rows)
        else:
            self._change(fact, row, run, rows)

    def _open(self, fact: Fact, session_id: str, run: Run, rows: RowsInHand) -> None:
        if isinstance(fact.event, (RunUpdated, RunDeleted)):
            return  # the run has no session of its own id
        if not isinstance(fact.event, AgentSessionCreated):
            raise CorruptStream(
                f"session {session_id!r} has {fact.event.kind!r} before `agent-session-created`"
            )
        is_first = session_id == run.id
        start = seed(
            session_id,
            run.id,
            context=run.context if is_first else {},
            run_status=run.status if is_first else "idle",
            created_at=run.created_at,
        )
        session = apply_to_session(start, fact.event, created_at=fact.created_at)
        rows.insert(SESSION.name, _row(session, run), _texts(session))

    def _change(self, fact: Fact, row: Row, run: Run, rows: RowsInHand) -> None:
        before = session_of(row)
        after = apply_to_session(
            before, fact.event, created_at=fact.created_at, is_new_item=_is_new_item(fact, rows)
        )
        new_row = _row(after, run)
        if new_row != row:
            rows.put(SESSION.name, new_row, _texts(after) if after.title != before.title else None)


def _session_ids(fact: Fact) -> tuple[str, ...]:
    """Return the sessions whose rows a fact may change."""
    match fact.event:
        case RunUpdated(session_ids=others) | RunDeleted(session_ids=others):
            return (fact.stream, *(other for other in others if other != fact.stream))
        case event if event.family is StreamFamily.RUN and fact.session_id is not None:
            return (fact.session_id,)
        case _:
            return ()


def _is_new_item(fact: Fact, rows: RowsInHand) -> bool:
    if fact.item_id is None or fact.session_id is None:
        return False
    return rows.get(ITEM.name, (fact.session_id, fact.item_id)) is None


def _row(session: Session, run: Run) -> Row:
    # `updated_at` is null only before the session is opened, and there is no row then.
    updated_at = session.created_at if session.updated_at is None else session.updated_at
    return {
        "id": session.id,
        "stream": session.run_id,
        "status": session.status,
        "agent_id": session.agent_id or "",  # no profile; an indexed column is never null
        "directory": _directory(session, run),
        "visibility": _visibility(session, run),
        "updated_at": updated_at,
        "item_count": session.item_count,
        "state": msgspec.json.encode(replace(session, updated_at=updated_at)).decode(),
    }


def _directory(session: Session, run: Run) -> str:
    return session.directory or run.directory or ""  # no folder; as for the profile


def _visibility(session: Session, run: Run) -> str:
    if session.is_deleted or run.is_deleted:
        return "hidden"
    return "archived" if run.is_archived else "listed"


def _texts(session: Session) -> dict[str, str]:
    return {"title": session.title} if session.title else {}
