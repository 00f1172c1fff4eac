"""The tables `prompt`, `turn`, `ask` and `execution`: one row for each, from its first event on.

A life belongs to one session and has an end. All that is unfinished in a run, or in the whole log,
is found by the index `unfinished`; what is finished is found by its id alone.
"""

from collections.abc import Callable, Iterable
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from spaced.domain.ask import Ask, apply_to_ask, open_ask
from spaced.domain.events.ask import (
    AskExpired,
    PermissionAnswered,
    PermissionAsked,
    QuestionAnswered,
    QuestionAsked,
)
from spaced.domain.events.event import Event
from spaced.domain.events.prompt import (
    PromptAdmitted,
    PromptCancelled,
    PromptEdited,
    PromptMoved,
    PromptPromoted,
    PromptReturned,
)
from spaced.domain.events.turn import (
    ExecutionEnded,
    ExecutionOpened,
    TurnDispatched,
    TurnEnded,
    TurnRetrying,
    TurnStarted,
)
from spaced.domain.execution import Execution, apply_to_execution, open_execution
from spaced.domain.prompt import AdmittedPrompt, admit_prompt, apply_to_prompt
from spaced.domain.turn import RecordedTurn, apply_to_turn, start_turn
from spaced.errors import CorruptStream, KeyTaken
from spaced.log.fact import Fact
from spaced.log.read_models.read_model import RowsInHand
from spaced.log.table import Column, Index, IndexColumn, Key, Row, Table


class _Life(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def session_id(self) -> str: ...
    @property
    def status(self) -> str: ...


_L = TypeVar("_L", bound=_Life)


def _table(name: str) -> Table:
    return Table(
        name=name,
        key=("id",),
        columns=(
            Column(name="id"),
            Column(name="stream"),
            Column(name="session_id"),
            Column(name="status"),
            Column(name="state"),
        ),
        indexes=(
            Index(
                name="unfinished",
                columns=(IndexColumn(name="status"), IndexColumn(name="stream")),
            ),
        ),
        role="derived",
    )


class Lives(Generic[_L]):
    """Keeps the rows of one kind of life equal to the log."""

    def __init__(
        self,
        name: str,
        state_type: type[_L],
        *,
        unfinished: tuple[str, ...],
        ids_in: Callable[[Event], tuple[str, ...]],
        begin: Callable[[Fact, str], _L | None],
        fold: Callable[[_L, Fact], _L],
    ) -> None:
        """Say how a life is recognized in events.

        Args:
            unfinished: the statuses of a life that has not ended.
            ids_in: the ids of the lives that an event names.
            begin: the life that a fact about a session begins, if it begins one.
            fold: the life after a fact that names it.
        """
        self.table = _table(name)
        self.unfinished = unfinished
        self._read = msgspec.json.Decoder(state_type)
        self._ids_in = ids_in
        self._begin = begin
        self._fold = fold

    def state_of(self, row: Row) -> _L:
        """Return the life that a row holds."""
        return self._read.decode(str(row["state"]))

    def keys(self, fact: Fact) -> Iterable[tuple[str, Key]]:
        """The rows of the lives that the fact names."""
        for name in self._ids_in(fact.event):
            yield self.table.name, (name,)

    def apply(self, fact: Fact, rows: RowsInHand) -> None:
        """Write the rows of the lives that the fact begins or changes."""
        for name in self._ids_in(fact.event):
            self._apply_to(name, fact, rows)

    def _apply_to(self, name: str, fact: Fact, rows: RowsInHand) -> None:
        row = rows.get(self.table.name, (name,))
        begun = None if fact.session_id is None else self._begin(fact, fact.session_id)
        if row is not None and row["stream"] != fact.stream:
            if begun is not None:
                raise KeyTaken(self.table.name, (name,))
            return
        if row is None:
            if begun is not None:
                rows.insert(self.table.name, self._row(begun, fact.stream))
            return
        if begun is not None and not isinstance(begun, Ask):
            raise CorruptStream(f"the {self.table.name} {name!r} begins twice")
        # An ask that is asked again is open again: its call has changed.
        state = begun or self._fold(self.state_of(row), fact)
        new_row = self._row(state, fact.stream)
        if new_row != row:
            rows.put(self.table.name, new_row)

    def _row(self, state: _L, stream: str) -> Row:
        return {
            "id": state.id,
            "stream": stream,
            "session_id": state.session_id,
            "status": state.status,
            "state": msgspec.json.encode(state).decode(),
        }


def _ids(attribute: str, *classes: type[Event]) -> Callable[[Event], tuple[str, ...]]:
    """Return what finds the id of a life in the events of these classes."""
    return lambda event: (getattr(event, attribute),) if isinstance(event, classes) else ()


_NAMED_PROMPT: Final = _ids(
    "prompt_id",
    *(PromptAdmitted, PromptEdited, PromptMoved, PromptCancelled, PromptPromoted, PromptReturned),
)


def _prompt_ids(event: Event) -> tuple[str, ...]:
    return event.prompt_ids if isinstance(event, TurnDispatched) else _NAMED_PROMPT(event)


def _begin_prompt(fact: Fact, session_id: str) -> AdmittedPrompt | None:
    if not isinstance(fact.event, PromptAdmitted):
        return None
    return admit_prompt(fact.event, session_id=session_id, version=fact.version)


def _begin_turn(fact: Fact, session_id: str) -> RecordedTurn | None:
    if not isinstance(fact.event, TurnStarted):
        return None
    return start_turn(
        fact.event, session_id=session_id, version=fact.version, created_at=fact.created_at
    )


def _begin_ask(fact: Fact, session_id: str) -> Ask | None:
    if not isinstance(fact.event, PermissionAsked | QuestionAsked):
        return None
    return open_ask(fact.event, session_id=session_id, created_at=fact.created_at)


def _begin_execution(fact: Fact, session_id: str) -> Execution | None:
    if not isinstance(fact.event, ExecutionOpened):
        return None
    return open_execution(fact.event, session_id=session_id)


PROMPTS: Final = Lives(
    "prompt",
    AdmittedPrompt,
    unfinished=("pending", "promoted"),
    ids_in=_prompt_ids,
    begin=_begin_prompt,
    fold=lambda prompt, fact: apply_to_prompt(prompt, fact.event),
)
TURNS: Final = Lives(
    "turn",
    RecordedTurn,
    unfinished=("open",),
    ids_in=_ids("turn_id", TurnStarted, TurnDispatched, TurnRetrying, TurnEnded),
    begin=_begin_turn,
    fold=lambda turn, fact: apply_to_turn(turn, fact.event, created_at=fact.created_at),
)
ASKS: Final = Lives(
    "ask",
    Ask,
    unfinished=("open",),
    ids_in=_ids(
        "ask_id",
        *(PermissionAsked, PermissionAnswered, QuestionAsked, QuestionAnswered, AskExpired),
    ),
    begin=_begin_ask,
    fold=lambda ask, fact: apply_to_ask(ask, fact.event),
)
EXECUTIONS: Final = Lives(
    "execution",
    Execution,
    unfinished=("open",),
    ids_in=_ids("execution_id", ExecutionOpened, ExecutionEnded),
    begin=_begin_execution,
    fold=lambda execution, fact: apply_to_execution(execution, fact.event),
)
