"""A run while its queue is held: what is unfinished in it, and the door through which it changes.

Whoever holds a run decides on what this says and appends the outcome; nobody else can come between.
Its rows are read once and then kept up with the appends, so that a command to a run that is in use
reads nothing at all.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from spaced.domain.ask import Ask
from spaced.domain.events.event import Event
from spaced.domain.events.transcript import AgentItemAppended
from spaced.domain.execution import Execution
from spaced.domain.prompt import AdmittedPrompt
from spaced.domain.run import Run
from spaced.domain.session import Session
from spaced.domain.session_items import item_id_of
from spaced.domain.turn import RecordedTurn
from spaced.engine.journal import Entry, Journal, KnownRows, Statement
from spaced.errors import CorruptStream
from spaced.log.read_models.items import ITEM
from spaced.log.read_models.lives import ASKS, EXECUTIONS, PROMPTS, TURNS, Lives
from spaced.log.read_models.open_items import OPEN_ITEM
from spaced.log.read_models.runs import RUN, run_of
from spaced.log.read_models.sessions import SESSION, session_of
from spaced.log.table import RowWrite
from spaced.refusals import SessionDeleted
from spaced.storage.protocol import Appended, Storage

_L = TypeVar("_L", AdmittedPrompt, RecordedTurn, Ask, Execution)

_LIVES: Final = (PROMPTS, TURNS, ASKS, EXECUTIONS)
_ITEM_TABLES: Final = (ITEM.name, OPEN_ITEM.name)


def about(session_id: str, *events: Event) -> list[Statement]:
    """Return statements about a session, and about its run where an event is of the run."""
    return [
        Statement(event=event, session_id=session_id if event.is_of_session else None)
        for event in events
    ]


class HeldRun:
    """A run, its sessions, and their unfinished prompts, turns, asks and executions.

    Attributes:
        is_usable: false once an append failed: what is known here may be wrong then.
    """

    def __init__(self, run_id: str, journal: Journal, version: int) -> None:
        self.id = run_id
        self.version = version
        self.is_usable = True
        self._journal = journal
        self._rows = KnownRows()

    @classmethod
    async def load(cls, run_id: str, journal: Journal, storage: Storage) -> "HeldRun":
        """Read a run; the caller holds its queue, so that nothing changes between the reads."""
        held = cls(run_id, journal, await storage.version(run_id))
        if held.version == 0:
            return held
        rows = held._rows
        rows.take_rows(RUN, (await storage.get_rows(RUN.name, [(run_id,)])).rows)
        found = await storage.list_rows(SESSION.name, where={"stream": run_id})
        rows.take_rows(SESSION, found.rows)
        for lives in _LIVES:
            for status in lives.unfinished:
                where = {"status": status, "stream": run_id}
                page = await storage.list_rows(lives.table.name, where=where, order="unfinished")
                rows.take_rows(lives.table, page.rows)
        return held

    @property
    def exists(self) -> bool:
        """Whether the run has any event."""
        return self.version > 0

    @property
    def run(self) -> Run:
        """The run itself.

        Raises:
            CorruptStream: its stream is damaged, so that nothing can be decided.
        """
        row = self._rows.find(RUN.name, (self.id,))
        if row is None:
            raise CorruptStream(f"the run {self.id!r} has events but no state")
        if row["damage"] is not None:
            raise CorruptStream(str(row["damage"]))
        return self._rows.state(row, run_of)

    def session(self, session_id: str) -> Session | None:
        """Return a session of this run."""
        row = self._rows.find(SESSION.name, (session_id,))
        if row is None or row["stream"] != self.id:
            return None
        return self._rows.state(row, session_of)

    def sessions(self) -> list[Session]:
        """Return all sessions of this run, in the order of their ids."""
        rows = self._rows.all(SESSION.name)
        found = [self._rows.state(row, session_of) for row in rows]
        return sorted((s for s in found if s.run_id == self.id), key=lambda session: session.id)

    def pending(self, session_id: str) -> list[AdmittedPrompt]:
        """Return the prompts in a session's queue, in its order."""
        found = [p for p in self._unfinished(PROMPTS, session_id) if p.status == "pending"]
        return sorted(found, key=lambda prompt: (prompt.rank, prompt.admission.version))

    def promoted(self, session_id: str) -> list[AdmittedPrompt]:
        """Return the prompts that left a session's queue and were not handed over yet."""
        found = [p for p in self._unfinished(PROMPTS, session_id) if p.status == "promoted"]
        return sorted(found, key=lambda prompt: (prompt.rank, prompt.admission.version))

    def prompt(self, prompt_id: str) -> AdmittedPrompt | None:
        """Return a prompt of this run that is not finished."""
        row = self._rows.find(PROMPTS.table.name, (prompt_id,))
        return None if row is None else self._rows.state(row, PROMPTS.state_of)

    def open_turn(self, session_id: str) -> RecordedTurn | None:
        """Return the turn that a session is in; there is at most one."""
        return next(iter(self._unfinished(TURNS, session_id)), None)

    def require_turn(self, session_id: str, turn_id: str) -> None:
        """Refuse to go on with a turn that somebody else has ended: whoever deletes does that.

        Raises:
            SessionDeleted: the turn is not open any more.
        """
        turn = self.open_turn(session_id)
        if turn is None or turn.id != turn_id:
            raise SessionDeleted(f"the session {session_id!r} was deleted during its turn")

    def open_asks(self, session_id: str) -> list[Ask]:
        """Return the asks of a session that nobody has answered."""
        return sorted(self._unfinished(ASKS, session_id), key=lambda ask: ask.id)

    def open_executions(self, session_id: str) -> list[Execution]:
        """Return the executions of a session that have not ended; there should be one at most."""
        return self._unfinished(EXECUTIONS, session_id)

    def expect_new(self, table: str, *keys: str) -> None:
        """Take for granted that there is no row of this key, since its id was just made.

        Without this the append would ask the storage first; with it, a clash is `KeyTaken`.
        """
        self._rows.hold_absent(table, keys)

    def forget_items(self) -> None:
        """Let go of the rows of items, of which a long turn may have many."""
        for table in _ITEM_TABLES:
            self._rows.forget(table)

    async def append(
        self,
        statements: Iterable[Statement],
        *,
        own_rows: Sequence[RowWrite] = (),
        also: Sequence[Entry] = (),
        bulk: bool = False,
    ) -> Appended:
        """Record what was decided about this run, all or nothing.

        Args:
            also: entries of other streams that are recorded in the same piece.

        Raises:
            SpacedError: as for `Journal.append`; nothing was recorded, and the run has to be read
                again before anything else is decided.
        """
        told = list(statements)
        self._expect_new_items(told)
        entry = Entry(stream=self.id, expected_version=self.version, statements=told)
        self.is_usable = False
        appended = await self._journal.append(
            entry, *also, own_rows=own_rows, bulk=bulk, known=self._rows
        )
        self.version += len(told)
        for lives in _LIVES:
            self._rows.forget_finished(lives.table.name, lives.unfinished)
        self.is_usable = True
        return appended

    def _expect_new_items(self, statements: Iterable[Statement]) -> None:
        """Take for granted that an item that is appended is not there: its id was just made."""
        for statement in statements:
            if isinstance(statement.event, AgentItemAppended) and statement.session_id is not None:
                for table in _ITEM_TABLES:
                    self.expect_new(table, statement.session_id, item_id_of(statement.event.item))

    def _unfinished(self, lives: Lives[_L], session_id: str) -> list[_L]:
        name = lives.table.name
        return [
            self._rows.state(row, lives.state_of)
            for row in self._rows.all(name)
            if row["session_id"] == session_id and row["status"] in lives.unfinished
        ]
