"""One turn being played: handed over once, steered, interrupted, and ended exactly once.

Two tasks play a turn. The inner one plays its steps and is what an interrupt cancels; the outer one
waits for it and is the only place that ends the turn. So there is no race between ways to end.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from spaced.plugin_api import (
    AskWithdrawn,
    Problem,
    Prompt,
    PromptNotTaken,
    RuntimeProblem,
    TurnFinished,
)
from spaced_scripted.default_agent import answer
from spaced_scripted.endings import AgentCrashed, TurnOver, TurnRefused
from spaced_scripted.execution import crash_execution
from spaced_scripted.memory import TurnRecord
from spaced_scripted.player import play, start_afterwards
from spaced_scripted.scripts import choose_turn
from spaced_scripted.signals import tell_continuity
from spaced_scripted.stage import Scene, Stage, prompts_to_json, text_of
from spaced_scripted.steps import ScriptProblem, Step, read_steps
from spaced_scripted.voice import Voice

_KEPT_PROMPTS = 50
_KEPT_LENGTH = 500


class PlayingTurn:
    """A turn from its hand-over to its end."""

    def __init__(self, stage: Stage, record: TurnRecord, on_idle: Callable[[], None]) -> None:
        self.record = record
        self.is_ending = False
        self._stage = stage
        self._on_idle = on_idle
        self._steps: asyncio.Task[TurnFinished | PromptNotTaken | AgentCrashed] | None = None
        self._steers = 0
        self._no_steers = asyncio.Event()
        self._no_steers.set()
        prefix = f"{record.conversation[:8]}.{record.number}"
        items = record.items if stage.survives else None
        voice = Voice(stage.reporter, turn_id=record.id, prefix=prefix, items=items)
        self._scene = Scene(stage=stage, voice=voice, record=record)

    def interrupt(self) -> None:
        """End the turn, unless its script refuses."""
        if self._scene.keeps_going or self.is_ending:
            return
        self.is_ending = True
        if self._steps is not None:
            self._steps.cancel()

    async def steer(self, prompts: tuple[Prompt, ...]) -> bool:
        """Take further prompts; false if it is too late."""
        if self.is_ending:
            return False
        # While one is being written down the turn does not end, so that what is written is true.
        self._steers += 1
        self._no_steers.clear()
        try:
            await _note(self._stage, self.record.id, prompts, steer=True)
            self.record.prompts += prompts_to_json(prompts)
            self.record.steered += len(prompts)
            _remember(self._stage, prompts)
            self._scene.steered.set()
        finally:
            self._steers -= 1
            if not self._steers:
                self._no_steers.set()
        return True

    async def play(self, handed: asyncio.Future[RuntimeProblem | None]) -> None:
        """Take the prompts, tell through the future what came of that, play the turn and end it."""
        problem = None
        try:
            await _note(self._stage, self.record.id, _prompts_of(self.record))
        except RuntimeProblem as found:
            problem = found
        if not handed.done():
            handed.set_result(problem)
        if problem is not None:
            self._on_idle()
            return
        await self._begin()
        await self._play_and_end()

    async def go_on(self) -> None:
        """Tell whole what was said before the daemon died, and play the rest."""
        if self.record.finished is not None:
            await self._scene.voice.repeat()
            await tell_continuity(self._scene)
            await self._report_end(msgspec.convert(self.record.finished, type=TurnFinished))
            return
        await self._play_and_end()

    async def _begin(self) -> None:
        conversation = self._stage.conversation
        conversation.begun += 1
        if self._stage.survives:
            conversation.turn = self.record
        _remember(self._stage, _prompts_of(self.record))
        await self._stage.memory.save(conversation)

    async def _play_and_end(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._steps = group.create_task(self._play_steps(), name="scripted-steps")
            if self.is_ending:
                self._steps.cancel()
        self.is_ending = True
        await self._no_steers.wait()
        await self._end(None if self._steps.cancelled() else self._steps.result())

    async def _play_steps(self) -> TurnFinished | PromptNotTaken | AgentCrashed:
        turn_id = self.record.id
        try:
            await self._play_script()
        except TurnOver as over:
            return TurnFinished(
                turn_id=turn_id,
                outcome=over.outcome,
                stop_reason=over.stop_reason,
                problem=over.problem,
            )
        except TurnRefused as refused:
            return PromptNotTaken(
                turn_id=turn_id, message=refused.message, after_ms=refused.after_ms
            )
        except AgentCrashed as crash:
            return crash
        except ScriptProblem as problem:
            return self._failed(
                "bad-script", str(problem), "docs/scripted.md lists the steps and their keys."
            )
        except Exception as error:  # whatever it is, the session must get its turn back
            self._stage.log.exception("a scripted turn failed")
            words = f"the scripted agent has a fault: {type(error).__name__}"
            return self._failed("scripted-fault", words, "Report this with the daemon's log.")
        return TurnFinished(turn_id=turn_id, stop_reason="end_turn")

    async def _play_script(self) -> None:
        record, scene = self.record, self._scene
        if record.index:
            await scene.voice.repeat()
        if not self._stage.is_told:
            await tell_continuity(scene)
        if record.steps is None:
            await self._choose()
        scene.voice.is_repeating = bool(record.index)
        while True:
            steps: Sequence[Step] = read_steps(record.steps)
            for number in range(max(record.index, 1), len(steps) + 1):
                record.index = number
                await self._save_progress()
                await play(steps[number - 1], scene, number)
                scene.voice.is_repeating = False
            record.index = len(steps) + 1
            if not await self._has_more():
                return

    async def _choose(self) -> None:
        record, stage = self.record, self._stage
        first = text_of(record.prompts[0]) if record.prompts else ""
        record.steps = await choose_turn(
            stage.options,
            directory=stage.session.directory,
            prompt=first,
            number=record.number,
        )
        if record.steps is None:
            record.is_default = True
            record.steps = []
            for prompt in record.prompts:
                record.steps += await answer(text_of(prompt), stage.session.directory)
                record.answered += 1

    async def _has_more(self) -> bool:
        await self._no_steers.wait()
        record = self.record
        if record.is_default and record.answered < len(record.prompts):
            assert record.steps is not None
            prompt = text_of(record.prompts[record.answered])
            record.answered += 1
            record.steps += await answer(prompt, self._stage.session.directory)
            return True
        # From here on a steer comes too late; nothing is awaited between the look and this.
        self.is_ending = True
        return False

    async def _save_progress(self) -> None:
        if self._stage.conversation.turn is not None:
            await self._stage.memory.save(self._stage.conversation)

    def _failed(self, code: str, message: str, remedy: str) -> TurnFinished:
        problem = Problem(code=code, message=message, remedy=remedy)
        return TurnFinished(turn_id=self.record.id, outcome="failed", problem=problem)

    async def _end(self, ending: TurnFinished | PromptNotTaken | AgentCrashed | None) -> None:
        stage, turn_id = self._stage, self.record.id
        match ending:
            case AgentCrashed():
                self._on_idle()
                await crash_execution(stage, str(ending), turn_id=turn_id)
            case PromptNotTaken():
                await self._undo()
                self._on_idle()
                await stage.reporter.report(ending)
            case TurnFinished(outcome="completed"):
                await self._finish(ending)
            case TurnFinished():
                await self._clean_up()
                await self._finish(ending)
            case None:
                await self._clean_up()
                await self._finish(
                    TurnFinished(turn_id=turn_id, outcome="interrupted", stop_reason="cancelled")
                )

    async def _clean_up(self) -> None:
        await self._scene.voice.cut_short()
        for ask_id in self._stage.asks.close_turn(self.record.id):
            await self._stage.reporter.report(AskWithdrawn(ask_id=ask_id, turn_id=self.record.id))

    async def _undo(self) -> None:
        conversation = self._stage.conversation
        conversation.begun -= 1
        conversation.turn = None
        del conversation.said[len(conversation.said) - len(self.record.prompts) :]
        await self._stage.memory.save(conversation)

    async def _finish(self, finished: TurnFinished) -> None:
        stage = self._stage
        stage.asks.close_turn(self.record.id)
        stage.conversation.ended += 1
        self.record.finished = msgspec.to_builtins(finished)
        await stage.memory.save(stage.conversation)
        await tell_continuity(self._scene)
        await self._report_end(finished)

    async def _report_end(self, finished: TurnFinished) -> None:
        stage = self._stage
        # Before the report: whoever takes it may start the next turn at once.
        self._on_idle()
        await stage.reporter.report(finished)
        for voice, steps in self._scene.afterwards:
            start_afterwards(self._scene, voice, steps)
        if stage.conversation.turn is self.record:
            stage.conversation.turn = None
            await stage.memory.save(stage.conversation)


async def _note(
    stage: Stage, turn_id: str, prompts: tuple[Prompt, ...], *, steer: bool = False
) -> None:
    line: dict[str, Any] = {"session_id": stage.session.session_id, "turn_id": turn_id}
    line["prompt_ids"] = [prompt.id for prompt in prompts]
    await stage.memory.note_delivery({**line, "steer": True} if steer else line)


def _remember(stage: Stage, prompts: tuple[Prompt, ...]) -> None:
    said = stage.conversation.said
    said += [prompt.text[:_KEPT_LENGTH] for prompt in prompts]
    del said[:-_KEPT_PROMPTS]


def _prompts_of(record: TurnRecord) -> tuple[Prompt, ...]:
    return tuple(Prompt(id=each["id"], parts=tuple(each["parts"])) for each in record.prompts)
