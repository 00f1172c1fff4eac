"""One scripted agent that serves one session, until it is closed, crashes or is let go."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from spaced.plugin_api import (
    AskAnswer,
    ConfigureOutcome,
    ConfigureReport,
    JsonObject,
    Prompt,
    RuntimeProblem,
    Turn,
)
from spaced_scripted.execution import end_execution
from spaced_scripted.memory import TurnRecord
from spaced_scripted.stage import Stage, prompts_to_json
from spaced_scripted.turn import PlayingTurn

_OPTIONS: Final = {"script": (list, tuple, dict), "script_file": (str,), "survives": (bool,)}


class ScriptedConnection:
    """Plays turns one after the other."""

    def __init__(self, stage: Stage, on_closed: Callable[["ScriptedConnection"], None]) -> None:
        self._stage = stage
        self._on_closed = on_closed
        self._turn: PlayingTurn | None = None

    async def start_turn(self, turn: Turn) -> None:
        """Take a turn's prompts; returns when it is written down that they were taken."""
        if self._stage.reporter.is_over:
            raise RuntimeProblem("the scripted agent has ended", remedy="Prompt again.")
        if self._turn is not None:
            raise RuntimeProblem(f"the scripted agent is busy with turn {self._turn.record.id!r}")
        playing = self._turn = PlayingTurn(self._stage, self._record_of(turn), self._become_idle)
        handed: asyncio.Future[RuntimeProblem | None] = asyncio.get_running_loop().create_future()
        task = self._stage.tasks.start(playing.play(handed), name="scripted turn")
        # Not the future alone: a close may end the task before it has answered.
        either: set[asyncio.Future[Any]] = {task, handed}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not handed.done():
            raise RuntimeProblem("the scripted agent was closed", remedy="Prompt again.")
        if (problem := handed.result()) is not None:
            raise problem

    def go_on(self, record: TurnRecord) -> None:
        """Take a turn up again that the daemon's death has not ended."""
        self._turn = PlayingTurn(self._stage, record, self._become_idle)
        self._stage.tasks.start(self._turn.go_on(), name="scripted turn")

    async def steer(self, turn_id: str, prompts: tuple[Prompt, ...]) -> bool:
        """Hand further prompts into the running turn; false if it has no steps left."""
        playing = self._turn
        if playing is None or playing.record.id != turn_id or self._stage.reporter.is_over:
            return False
        return await playing.steer(prompts)

    async def interrupt(self, turn_id: str) -> None:
        """Cancel the step that is being played."""
        if self._turn is not None and self._turn.record.id == turn_id:
            self._turn.interrupt()

    async def answer(self, ask_id: str, answer: AskAnswer) -> bool:
        """Answer an open ask; written down before it is confirmed."""
        if self._stage.reporter.is_over or not self._stage.asks.answer(ask_id, answer):
            return False
        if self._stage.conversation.turn is not None:
            await self._stage.memory.save(self._stage.conversation)
        return True

    async def configure(self, changes: JsonObject) -> ConfigureReport:
        """Take any mode and model, and the options that scripts have."""
        outcomes: dict[str, ConfigureOutcome] = {}
        for name, value in changes.items():
            if name == "options" and isinstance(value, dict):
                outcomes |= {key: self._set_option(key, value[key]) for key in value}
            elif name in ("mode", "model"):
                outcomes[name] = "applied" if isinstance(value, str) else "failed"
            else:
                outcomes[name] = "unsupported"
        return outcomes

    async def compact(self) -> bool:
        """Remember only what was said last."""
        del self._stage.conversation.said[:-1]
        return True

    async def forget(self) -> None:
        """Forget the conversation; the next turn begins a new one."""
        forgotten = self._stage.conversation
        self._stage.begin_conversation()
        self._stage.conversation.is_reachable = forgotten.is_reachable
        await self._stage.memory.forget(forgotten)

    async def close(self, grace_ms: int) -> None:
        """End the agent; a running command has this long to end well."""
        await end_execution(self._stage, grace_ms=grace_ms)
        self._turn = None
        conversation = self._stage.conversation
        if conversation.is_reachable:
            conversation.is_reachable = False
            conversation.turn = None
            await self._stage.memory.save(conversation)
        self._on_closed(self)

    async def let_go(self) -> None:
        """Stop playing, and leave in the files what is needed to find the agent again."""
        await end_execution(self._stage, grace_ms=0)
        if self._stage.conversation.begun:
            # A write whose task was cancelled may still be going on; this one comes after it.
            await self._stage.memory.save(self._stage.conversation)
        self._turn = None
        self._on_closed(self)

    def _become_idle(self) -> None:
        self._turn = None

    def _set_option(self, name: str, value: Any) -> ConfigureOutcome:
        kinds = _OPTIONS.get(name)
        if kinds is None:
            return "unsupported"
        if not isinstance(value, kinds):
            return "failed"
        self._stage.options[name] = value
        return "applied"

    def _record_of(self, turn: Turn) -> TurnRecord:
        conversation = self._stage.conversation
        return TurnRecord(
            id=turn.id,
            number=conversation.begun + 1,
            conversation=conversation.id,
            prompts=prompts_to_json(turn.prompts),
            instructions=turn.instructions,
            history=turn.history,
        )
