"""The tables `workflow`, `profile` and `sync_source`: the newest state of what people define."""

from collections.abc import Callable, Iterable
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from spaced.domain.definitions import (
    DefinedProfile,
    DefinedWorkflow,
    SyncSource,
    apply_to_profile,
    apply_to_sync_source,
    apply_to_workflow,
)
from spaced.domain.events.event import StreamFamily
from spaced.log.fact import Fact
from spaced.log.read_models.read_model import RowsInHand
from spaced.log.table import Column, Index, IndexColumn, Key, Row, Table


class _HasStatus(Protocol):
    @property
    def status(self) -> str: ...


_S = TypeVar("_S", bound=_HasStatus)


def _table(name: str, *more: str) -> Table:
    return Table(
        name=name,
        key=("id",),
        columns=(
            Column(name="id"),
            Column(name="stream"),
            Column(name="name"),
            Column(name="status"),
            *(Column(name=column) for column in more),
            Column(name="state"),
        ),
        indexes=(
            Index(name="by_name", columns=(IndexColumn(name="status"), IndexColumn(name="name"))),
            *(Index(name=f"by_{column}", columns=(IndexColumn(name=column),)) for column in more),
        ),
        role="derived",
    )


WORKFLOW: Final = _table("workflow", "source_id")
PROFILE: Final = _table("profile")
SYNC_SOURCE: Final = _table("sync_source")


class Definitions(Generic[_S]):
    """Keeps one row for each stream of a family, with the whole state in it."""

    def __init__(
        self,
        table: Table,
        family: StreamFamily,
        state_type: type[_S],
        fold: Callable[[_S | None, Fact], _S | None],
        told: Callable[[_S], Row],
    ) -> None:
        self.table = table
        self._family = family
        self._read = msgspec.json.Decoder(state_type)
        self._fold = fold
        self._told = told

    def state_of(self, row: Row) -> _S:
        """Return the state that a row holds."""
        return self._read.decode(str(row["state"]))

    def keys(self, fact: Fact) -> Iterable[tuple[str, Key]]:
        """The row of the fact's stream."""
        if fact.event.family is self._family:
            yield self.table.name, (fact.stream,)

    def apply(self, fact: Fact, rows: RowsInHand) -> None:
        """Write the row if the fact changes it."""
        if fact.event.family is not self._family:
            return
        row = rows.get(self.table.name, (fact.stream,))
        state = self._fold(None if row is None else self.state_of(row), fact)
        if state is None:
            return
        new_row: Row = {
            "id": fact.stream,
            "stream": fact.stream,
            **self._told(state),
            "status": state.status,
            "state": msgspec.json.encode(state).decode(),
        }
        if new_row != row:
            rows.put(self.table.name, new_row)


WORKFLOWS: Final = Definitions(
    WORKFLOW,
    StreamFamily.WORKFLOW,
    DefinedWorkflow,
    lambda state, fact: apply_to_workflow(state, fact.event, version=fact.version),
    lambda state: {"name": state.workflow.name, "source_id": state.source_id},
)
PROFILES: Final = Definitions(
    PROFILE,
    StreamFamily.PROFILE,
    DefinedProfile,
    lambda state, fact: apply_to_profile(state, fact.event, version=fact.version),
    lambda state: {"name": state.profile.name},
)
SYNC_SOURCES: Final = Definitions(
    SYNC_SOURCE,
    StreamFamily.SYNC_SOURCE,
    SyncSource,
    lambda state, fact: apply_to_sync_source(state, fact.event),
    lambda state: {"name": state.name or state.path},
)
