"""What a listener wants to hear."""

from dataclasses import dataclass
from typing import Final

from spaced.log.record import RecordedEvent

ABOUT_ITS_RUN: Final = frozenset(
    {"run-updated", "run-deleted", "run-completed", "run-cancelled", "run-reopened"}
    | {"session-made-primary", "initial-session-recorded"}
    | {"route-prepared", "route-committed", "route-abandoned", "binding-recorded"}
)
"""Kinds of a run that every stream of one of its sessions carries."""

STEP_FRAMES: Final = frozenset(
    {"workflow-step-created", "workflow-step-updated", "workflow-step-deleted"}
)
"""Names of frames that are derived from a new version of a workflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Conditions that must all hold; `None` is no condition.

    Attributes:
        stream: the stream that an event stands in.
        session_id: the session that it is about; some kinds of its run pass all the same.
        kinds: kinds of events, and names of ephemeral frames.
    """

    stream: str | None = None
    session_id: str | None = None
    kinds: frozenset[str] | None = None

    @property
    def recorded_kinds(self) -> frozenset[str] | None:
        """The kinds of events that are looked for: those that are wanted, or tell of such."""
        if self.kinds is None or not self.kinds & STEP_FRAMES:
            return self.kinds
        return self.kinds | {"workflow-defined"}

    def passes(self, event: RecordedEvent) -> bool:
        """Tell whether an event is wanted."""
        kinds = self.recorded_kinds
        if kinds is not None and event.kind not in kinds:
            return False
        if self.stream is not None and event.stream != self.stream:
            return False
        if self.session_id is None or event.session_id == self.session_id:
            return True
        return event.kind in ABOUT_ITS_RUN

    def passes_ephemeral(self, name: str, *, run_id: str, session_id: str) -> bool:
        """Tell whether a frame that is not recorded is wanted."""
        return (self.kinds is None or name in self.kinds) and self.concerns(
            run_id=run_id, session_id=session_id
        )

    def concerns(self, *, run_id: str, session_id: str) -> bool:
        """Tell whether what is going on in a session is wanted."""
        return self.stream in (None, run_id) and self.session_id in (None, session_id)
