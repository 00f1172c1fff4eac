"""What must be true of sessions, prompts and turns, in plain Python: the oracle of the state machine.

The model knows sessions at rest: idle, or with an agent that stands before its gate, waits for an
answer, waits for its next attempt, or ignores an interrupt. Each command says what the next rest is.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from spaced.domain.json_values import JsonObject

Kind = Literal["quick", "gate", "fail", "ask", "stubborn", "refused"]
Delivery = Literal["queue", "steer"]

KINDS: Final[tuple[Kind, ...]] = ("quick", "gate", "fail", "ask", "stubborn", "refused")
RETRY_MS: Final = 1000
GRACE_MS: Final = 5000


def script_of(kind: Kind, name: str) -> list[JsonObject]:
    """Return the steps of a turn that begins with such a prompt; its gate has the prompt's id."""
    gate: JsonObject = {"do": "gate", "name": name}
    match kind:
        case "quick":
            return [{"do": "say", "text": "quick"}]
        case "gate":
            return [gate, {"do": "say", "text": "through"}]
        case "fail":
            return [gate, {"do": "fail", "message": "as told"}]
        case "ask":
            return [{"do": "ask_permission", "ask_id": f"ask-{name}"}, gate]
        case "stubborn":
            return [{"do": "refuse_to_stop"}, gate]
        case "refused":
            return [{"do": "not_taken", "after_ms": RETRY_MS}, gate]


def parts_of(kind: Kind, name: str, more: str = "") -> tuple[JsonObject, ...]:
    """Return the parts of a prompt that brings the script of its turn."""
    script = json.dumps([script_of(kind, name)])[1:-1]
    return ({"type": "text", "text": f"```script\n{script}\n```\n{more}"},)


@dataclass(slots=True, kw_only=True)
class Prompt:
    """An accepted prompt."""

    id: str
    kind: Kind
    parts: tuple[JsonObject, ...]
    delivery: Delivery
    held: bool
    number: int
    status: Literal["pending", "delivered", "cancelled"] = "pending"


@dataclass(slots=True, kw_only=True)
class Turn:
    """An open turn at rest."""

    prompts: list[Prompt]
    kind: Kind
    is_asking: bool = False
    is_retrying: bool = False
    is_stubborn: bool = False
    is_interrupting: bool = False

    @property
    def gate(self) -> str:
        """The gate that the agent comes to."""
        return self.prompts[0].id

    @property
    def takes_steers(self) -> bool:
        """Whether further prompts can be handed in."""
        return not (self.is_retrying or self.is_interrupting)


@dataclass(slots=True, kw_only=True)
class Chat:
    """A session: a chat's first one, or a follow-up."""

    id: str
    run_id: str
    survives: bool
    follows: str | None = None
    pending: list[Prompt] = field(default_factory=list)
    delivered: list[str] = field(default_factory=list)
    turn: Turn | None = None
    is_paused: bool = False
    is_completed: bool = False
    is_deleted: bool = False

    def admit(self, prompt: Prompt, *, wake: bool, replaces: bool) -> None:
        """Take a prompt; one that wakes lets everything go on."""
        self.pending.insert(0 if replaces else len(self.pending), prompt)
        if wake:
            self.release()
        if replaces:
            self._stop_turn()
        self.go_on()

    def release(self) -> None:
        """Let everything that waits go."""
        self.is_paused = False
        for prompt in self.pending:
            prompt.held = False

    def interrupt(self) -> bool:
        """End the turn; what waits is kept from going on."""
        if self.turn is None:
            return False
        self.is_paused = self.is_paused or bool(self.pending)
        self._stop_turn()
        self.go_on()
        return True

    def pass_time(self) -> None:
        """Let every wait be over."""
        turn = self.turn
        if turn is not None and turn.is_interrupting:
            self.turn = None
        elif turn is not None:
            turn.is_retrying = False
        self.go_on()

    def end_turn(self) -> None:
        """Let the agent through its gate."""
        self.turn = None
        self.go_on()

    def survive(self) -> None:
        """Go through a crash of the daemon with an agent that lives on; it forgets to be stubborn."""
        if self.turn is not None and self.turn.is_retrying:
            self.turn = None  # the agent does not have it, and nothing is handed over again
        elif self.turn is not None:
            self.turn.is_interrupting = self.turn.is_stubborn = False
        self.go_on()

    def delete(self) -> None:
        """Take what waits out of the queue."""
        for prompt in self.pending:
            prompt.status = "cancelled"
        self.pending, self.turn, self.is_deleted = [], None, True

    def go_on(self) -> None:
        """Do what can be done until the session is at rest."""
        while self.turn is None and (prompts := self.next_prompts()):
            self._deliver(prompts)
            if prompts[0].kind != "quick":
                kind = prompts[0].kind
                self.turn = Turn(
                    prompts=prompts,
                    kind=kind,
                    is_asking=kind == "ask",
                    is_retrying=kind == "refused",
                    is_stubborn=kind == "stubborn",
                )
        if self.turn is not None and self.turn.takes_steers and (steers := self._steers()):
            self._deliver(steers)
            self.turn.prompts += steers

    def _stop_turn(self) -> None:
        turn = self.turn
        if turn is not None and turn.is_stubborn and not turn.is_interrupting:
            turn.is_interrupting = True
        else:
            self.turn = None

    def next_prompts(self) -> list[Prompt]:
        """Return what a turn would begin with now."""
        if self.is_paused:
            return []
        return self._steers() or [prompt for prompt in self.pending if not prompt.held][:1]

    def _steers(self) -> list[Prompt]:
        if self.is_paused:
            return []
        steers = [p for p in self.pending if p.delivery == "steer" and not p.held]
        return sorted(steers, key=lambda prompt: prompt.number)

    def _deliver(self, prompts: list[Prompt]) -> None:
        for prompt in prompts:
            prompt.status = "delivered"
            self.pending.remove(prompt)
            self.delivered.append(prompt.id)


@dataclass(slots=True)
class Model:
    """All sessions, and every prompt that was accepted."""

    chats: dict[str, Chat] = field(default_factory=dict)
    prompts: dict[str, Prompt] = field(default_factory=dict)

    def living(self) -> list[Chat]:
        """Return the sessions that can be talked to."""
        return [chat for chat in self.chats.values() if not chat.is_deleted]

    def open(self) -> list[Chat]:
        """Return the sessions that can have turns."""
        return [chat for chat in self.living() if not chat.is_completed]

    def following(self, chat: Chat) -> Chat | None:
        """Return the session that takes the prompts of a completed one, if it is there."""
        return next((other for other in self.living() if other.follows == chat.id), None)

    def recipient(self, chat: Chat) -> Chat | None:
        """Return who takes a prompt to this session; `None`: a follow-up is opened for it."""
        found: Chat | None = chat
        while found is not None and found.is_completed:
            found = self.following(found)
        return found

    def last_completed(self, chat: Chat) -> Chat:
        """Return the session that a new follow-up continues."""
        while (after := self.following(chat)) is not None:
            chat = after
        return chat

    def of_run(self, chat: Chat) -> Iterator[Chat]:
        """Return what is deleted with a session: itself, or its whole run."""
        for other in self.living():
            if other.id == chat.id or (chat.id == chat.run_id and other.run_id == chat.run_id):
                yield other
