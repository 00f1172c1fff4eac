"""What a story tells of prompts, turns, asks and executions, in any order that does not contradict.

Each of them begins once; what comes about one that never began, or that has ended, changes nothing.
An ask alone may be asked again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import strategies as st

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

Draw = Callable[[st.SearchStrategy[Any]], Any]

_BOOLEANS: Final = st.booleans()
_SMALL: Final = st.integers(-3, 3)
_PARTS: Final = st.sampled_from([(), ({"type": "text", "text": "ä\x00"},), ({"type": "x"},) * 2])
_DELIVERIES: Final = st.sampled_from(["queue", "steer"])
_ORIGINS: Final = st.sampled_from(["person", "recovery"])
_OUTCOMES: Final = st.sampled_from(["completed", "failed", "not-dispatched"])
_USAGE: Final = st.sampled_from([None, {"in": 3, "cost": 0.5, "model": "m"}, {"in": 2**70}])


@dataclass(slots=True)
class ToldLives:
    """The lives that a run's story knows of, by their ids."""

    run_id: str
    draw: Draw
    ids: dict[str, list[str]] = field(default_factory=dict)

    def next_event(self, session_ids: Sequence[str], item_ids: Sequence[str]) -> Event:
        """Tell something about a life.

        Args:
            item_ids: the items that its session has.
        """
        kind = self.draw(st.sampled_from(["prompt", "turn", "ask", "execution"]))
        item_id = self.draw(st.sampled_from(["never", *item_ids]))
        match kind:
            case "prompt":
                return self._prompt(self.draw(st.sampled_from(session_ids)), item_id)
            case "ask":
                return self._ask(self.draw(st.sampled_from([None, item_id])))
            case "turn":
                return self._turn()
            case _:
                return self._execution()

    def _one_of(self, events: Sequence[Event]) -> Event:
        place: int = self.draw(st.integers(0, len(events) - 1))
        return events[place]

    def _new(self, kind: str) -> str:
        known = self.ids.setdefault(kind, [])
        known.append(f"{self.run_id}-{kind}-{len(known)}")
        return known[-1]

    def _known(self, kind: str) -> str:
        """Return the id of a life that has begun, or of none that ever was."""
        never = f"{self.run_id}-{kind}-never"
        return str(self.draw(st.sampled_from([*self.ids.get(kind, ()), never])))

    def _begins(self, kind: str) -> bool:
        return not self.ids.get(kind) or self.draw(st.integers(0, 4)) == 0

    def _prompt(self, session_id: str, item_id: str) -> Event:
        if self._begins("msg"):
            return self._admitted(session_id)
        prompt_id, turn_id, draw = self._known("msg"), self._known("turn"), self.draw
        edited = PromptEdited(
            prompt_id=prompt_id,
            parts=draw(st.none() | _PARTS),
            delivery=draw(st.none() | _DELIVERIES),
            held=draw(st.none() | _BOOLEANS),
        )
        events: list[Event] = [
            edited,
            PromptMoved(prompt_id=prompt_id, to_session_id=session_id, rank=draw(_SMALL)),
            PromptCancelled(prompt_id=prompt_id, reason="person"),
            PromptPromoted(prompt_id=prompt_id, turn_id=turn_id, item_id=item_id),
            PromptReturned(
                prompt_id=prompt_id, turn_id=turn_id, parts=draw(_PARTS), rank=draw(_SMALL)
            ),
        ]
        return self._one_of(events)

    def _admitted(self, session_id: str) -> Event:
        return PromptAdmitted(
            prompt_id=self._new("msg"),
            parts=self.draw(_PARTS),
            delivery=self.draw(_DELIVERIES),
            address={"kind": "session", "id": session_id},
            origin=self.draw(_ORIGINS),
            held=self.draw(_BOOLEANS),
            rank=self.draw(_SMALL),
            queue_index=self.draw(st.integers(0, 2)),
        )

    def _turn(self) -> Event:
        prompt_ids = tuple({self._known("msg"): None, self._known("msg"): None})
        if self._begins("turn"):
            return TurnStarted(turn_id=self._new("turn"), prompt_ids=prompt_ids)
        turn_id = self._known("turn")
        dispatched = TurnDispatched(
            turn_id=turn_id, execution_id=self._known("exe"), prompt_ids=prompt_ids
        )
        attempt = self.draw(st.integers(2, 4))
        events: list[Event] = [
            dispatched,
            TurnRetrying(turn_id=turn_id, attempt=attempt, message="m", next_at="x"),
            TurnEnded(turn_id=turn_id, outcome=self.draw(_OUTCOMES), usage=self.draw(_USAGE)),
        ]
        return self._one_of(events)

    def _ask(self, item_id: str | None) -> Event:
        if self._begins("ask"):
            return self._asked(self._new("ask"), item_id)
        ask_id = self._known("ask")
        if self.draw(st.integers(0, 3)) == 0 and ask_id in self.ids["ask"]:
            return self._asked(ask_id, item_id)
        return self._closed(ask_id)

    def _asked(self, ask_id: str, item_id: str | None) -> Event:
        turn_id = self.draw(st.none() | st.just(self._known("turn")))
        source = {"execution_id": self._known("exe"), "id": "1"}
        if self.draw(_BOOLEANS):
            questions = ({"text": "ä?"},)
            return QuestionAsked(ask_id=ask_id, questions=questions, turn_id=turn_id, source=source)
        return PermissionAsked(
            ask_id=ask_id,
            tool_kind="edit",
            tool_call={"name": "n", "arguments": {"n": 2**70}},
            options=({"option_id": "o", "kind": "allow_once"},),
            digest=self.draw(st.sampled_from(["", "d"])),
            turn_id=turn_id,
            item_id=item_id,
            subject=self.draw(st.sampled_from([None, "ls"])),
            source=source,
        )

    def _closed(self, ask_id: str) -> Event:
        events: list[Event] = [
            PermissionAnswered(ask_id=ask_id, option_id="o", outcome="allow", by="person"),
            QuestionAnswered(ask_id=ask_id, answers=(("a", "b"), ()), prompt_id="msg"),
            AskExpired(ask_id=ask_id, reason="withdrawn"),
        ]
        return self._one_of(events)

    def _execution(self) -> Event:
        if self._begins("exe"):
            generation = self.draw(st.integers(1, 2))
            return ExecutionOpened(
                execution_id=self._new("exe"), runtime="scripted", generation=generation
            )
        return ExecutionEnded(execution_id=self._known("exe"), reason="idle")
