"""The prompts of a session: which wait, which are being answered, and which of them are ours."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from spaced.cli.chat.spans import one_line
from spaced.wire.shapes import Prompt

_SHOWN: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A prompt that waits."""

    id: str
    text: str
    delivery: str
    held: bool = False


@dataclass(slots=True)
class QueueView:
    """What became of prompts.

    Attributes:
        is_paused: whether those that wait go on only when somebody says so.
        awaited: ids of our own prompts that nobody has answered yet.
        has_failure: whether a turn with a prompt of ours ended otherwise than completed.
    """

    is_paused: bool = False
    awaited: set[str] = field(default_factory=set)
    has_failure: bool = False
    _waiting: dict[str, Waiting] = field(default_factory=dict)
    _turns: dict[str, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many prompts wait."""
        return len(self._waiting)

    @property
    def has_turn(self) -> bool:
        """Whether prompts are being answered whose turn began before our eyes."""
        return bool(self._turns)

    def has(self, prompt_id: str) -> bool:
        """Tell whether a prompt waits."""
        return prompt_id in self._waiting

    def begin(self, prompts: Iterable[Prompt], *, is_paused: bool) -> None:
        """Take the prompts that wait already."""
        self.is_paused = is_paused
        self._waiting = {
            prompt.id: Waiting(
                id=prompt.id,
                text=text_of(prompt.parts),
                delivery=prompt.delivery,
                held=prompt.held,
            )
            for prompt in prompts
        }

    def take(self, kind: str, body: Mapping[str, Any]) -> Waiting | None:
        """Take an event; returns the prompt that it is about, as it was."""
        prompt_id = str(body.get("prompt_id"))
        known = self._waiting.get(prompt_id)
        match kind:
            case "prompt-admitted" | "prompt-returned":
                return self._admit(prompt_id, body)
            case "prompt-edited":
                self._edit(known, body)
            case "prompt-promoted":
                self._turns[prompt_id] = str(body.get("turn_id"))
                self._waiting.pop(prompt_id, None)
            case "prompt-cancelled":
                self._waiting.pop(prompt_id, None)
                self.awaited.discard(prompt_id)
            case "turn-ended":
                self._end_turn(body)
            case "queue-paused" | "queue-resumed":
                self.is_paused = kind == "queue-paused"
        return known

    def give_up(self, prompt_id: str) -> None:
        """Note that a prompt of ours was refused."""
        self.awaited.discard(prompt_id)
        self.has_failure = True

    def _admit(self, prompt_id: str, body: Mapping[str, Any]) -> Waiting:
        self._turns.pop(prompt_id, None)
        admitted = self._waiting[prompt_id] = Waiting(
            id=prompt_id,
            text=text_of(body.get("parts") or ()),
            delivery=str(body.get("delivery") or "queue"),
            held=bool(body.get("held")),
        )
        return admitted

    def _edit(self, known: Waiting | None, body: Mapping[str, Any]) -> None:
        if known is None:
            return
        parts = body.get("parts")
        self._waiting[known.id] = replace(
            known,
            text=known.text if parts is None else text_of(parts),
            delivery=str(body.get("delivery") or known.delivery),
            held=bool(body.get("held", known.held)),
        )

    def _end_turn(self, body: Mapping[str, Any]) -> None:
        ended = [name for name, turn_id in self._turns.items() if turn_id == body.get("turn_id")]
        for name in ended:
            del self._turns[name]
            if name in self.awaited and body.get("outcome") != "completed":
                self.has_failure = True
            self.awaited.discard(name)


def text_of(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the words of a prompt, on one short line."""
    words = [str(part.get("text") or part.get("name") or "") for part in parts]
    return one_line(" ".join(word for word in words if word), longest=_SHOWN)
