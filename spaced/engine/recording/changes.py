"""What a report of a runtime leads to: events, rows beside them, and what is shown right now."""

from dataclasses import dataclass, field

from spaced.domain.events.event import Event
from spaced.log.table import RowWrite


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """Text that is announced before it is recorded; the fields of `TextDelta`."""

    item_id: str
    field: str
    offset: int
    text: str


@dataclass(slots=True, kw_only=True)
class Changes:
    """Events and rows in their order, and deltas to announce."""

    events: list[Event] = field(default_factory=list)
    rows: list[RowWrite] = field(default_factory=list)
    deltas: list[Delta] = field(default_factory=list)

    def add(self, other: "Changes") -> None:
        """Take over what another change brings, behind what is here."""
        self.events += other.events
        self.rows += other.rows
        self.deltas += other.deltas

    @property
    def is_written(self) -> bool:
        """Whether there is nothing to write."""
        return not self.events and not self.rows
