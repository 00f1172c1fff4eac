"""Steps that use tools or ask, and wait for what a person says."""

import json
from collections.abc import Sequence
from typing import Any, Final, assert_never

from spaced.plugin_api import (
    AskWithdrawn,
    ChildGone,
    Exit,
    JsonObject,
    PermissionAnswer,
    PermissionWanted,
    QuestionAnswer,
    QuestionWanted,
    SpawnRefused,
    Update,
)
from spaced_scripted.asks import read_answer
from spaced_scripted.endings import TurnOver
from spaced_scripted.pieces import cut
from spaced_scripted.speech import say
from spaced_scripted.stage import Scene
from spaced_scripted.steps import Asking, AskPermission, OnReject, Question, Tool, Withdraw

_OPTIONS: Final[Sequence[JsonObject]] = (
    {"option_id": "allow", "name": "Allow once", "kind": "allow_once"},
    {"option_id": "always", "name": "Always allow", "kind": "allow_always"},
    {"option_id": "reject", "name": "Reject", "kind": "reject_once"},
)
_LOST: Final = "The daemon ended while the command was running; what it did is not known."


async def ask(step: Asking, scene: Scene, source: str) -> None:
    """Play a step that uses a tool or asks."""
    match step:
        case Tool():
            await ToolCall(step, scene, step.source or source).play()
        case AskPermission():
            await _ask_permission(step, scene, step.source or source)
        case Question():
            await _question(step, scene, source)
        case Withdraw(ask_id=ask_id):
            if scene.stage.asks.withdraw(ask_id):
                await scene.voice.report(AskWithdrawn(ask_id=ask_id, turn_id=scene.voice.turn_id))
        case _:
            assert_never(step)


class ToolCall:
    """One call of a tool: asked for, made, and its result shown."""

    def __init__(self, step: Tool, scene: Scene, source: str) -> None:
        self._step = step
        self._scene = scene
        self._source = source
        self._result = f"{source}.result"
        self._names = {"call_id": source, "name": step.name}
        self._title = step.title or (" ".join(step.command) if step.command else step.name)

    async def play(self) -> None:
        """Show the call, ask if the step says so, and show what comes of it."""
        step = self._step
        await self._scene.voice.show(self._source, "tool-call", **self._call(), status="pending")
        if step.permission:
            answer = await _permission(self._scene, self._wanted(), may_wait=True)
            if answer is None or not answer.is_allowed:
                await self._end(_rejection(answer), is_error=True)
                _end_if_told(step.on_reject)
                return
        await self._scene.voice.show(self._source, "tool-call", status="running")
        if step.command is None:
            await self._canned(step.output)
            await self._end(None, is_error=step.is_error)
        else:
            await self._run(step.command)

    def _call(self) -> dict[str, object]:
        return {
            **self._names,
            "title": self._title,
            "kind": self._step.kind,
            "arguments": _json_text(self._step.arguments or _arguments(self._step.command)),
        }

    def _wanted(self) -> PermissionWanted:
        command = " ".join(self._step.command or ())
        return PermissionWanted(
            ask_id=f"ask-{self._source}",
            tool_kind=self._step.kind,
            tool_call=self._call(),
            options=tuple(_OPTIONS),
            subject=self._step.subject if self._step.subject is not None else command,
            pattern=self._step.pattern,
            source=self._source,
            turn_id=self._scene.voice.turn_id,
        )

    async def _run(self, command: Sequence[str]) -> None:
        started = self._scene.record.started
        if self._source in started:
            await self._end(_LOST, is_error=True)
            return
        started.append(self._source)
        await save_if_surviving(self._scene)
        try:
            ended, complaint = await self._run_child(command)
        except (SpawnRefused, ChildGone) as problem:
            await self._end(problem.message, is_error=True)
            return
        await self._end(_how(ended, complaint), is_error=ended.code != 0)

    async def _run_child(self, command: Sequence[str]) -> tuple[Exit, str]:
        async with self._scene.stage.commands.start(command) as running:
            async for text in running.output():
                await self._append(text)
            ended = await running.wait()
            return ended, running.error_output() if ended.code != 0 else ""

    async def _canned(self, output: str) -> None:
        opening = {"type": "tool-result", **self._names}
        await self._scene.voice.stream(self._result, cut(output), opens_with=opening)

    async def _append(self, text: str) -> None:
        opening = {"type": "tool-result", **self._names}
        await self._scene.voice.append(self._result, text, opens_with=opening)

    async def _end(self, last_words: str | None, *, is_error: bool) -> None:
        if last_words:
            await self._append(last_words)
        voice = self._scene.voice
        await voice.show(self._result, "tool-result", **self._names, is_error=is_error)
        status = "failed" if is_error else "completed"
        await voice.show(self._source, "tool-call", status=status)


async def save_if_surviving(scene: Scene) -> None:
    """Write down how far the turn has come, if anybody could go on from there."""
    conversation = scene.stage.conversation
    if conversation.turn is not None:
        await scene.stage.memory.save(conversation)


async def _permission(
    scene: Scene, wanted: PermissionWanted, *, may_wait: bool
) -> PermissionAnswer | None:
    answer = await _answer_to(scene, wanted.ask_id, PermissionAnswer, wanted, may_wait=may_wait)
    return answer if isinstance(answer, PermissionAnswer) else None


async def _answer_to(
    scene: Scene,
    ask_id: str,
    kind: type[PermissionAnswer] | type[QuestionAnswer],
    wanted: Update,
    *,
    may_wait: bool,
) -> PermissionAnswer | QuestionAnswer | None:
    answers = scene.record.answers
    if ask_id in answers:
        return read_answer(answers[ask_id])
    # Open before it is reported: the answer may come while the report is being taken.
    answered = scene.stage.asks.expect(ask_id, kind, turn_id=scene.voice.turn_id, answers=answers)
    await scene.voice.report(wanted)
    return await answered if may_wait else None


async def _ask_permission(step: AskPermission, scene: Scene, source: str) -> None:
    call = {"call_id": source, "name": step.name, "title": step.title or step.name}
    call |= {"kind": step.kind, "arguments": _json_text(step.arguments)}
    await scene.voice.show(source, "tool-call", **call, status="pending")
    wanted = PermissionWanted(
        ask_id=step.ask_id or f"ask-{source}",
        tool_kind=step.kind,
        tool_call=call,
        options=tuple(_OPTIONS if step.options is None else step.options),
        subject=step.subject,
        pattern=step.pattern,
        source=source,
        turn_id=scene.voice.turn_id,
    )
    answer = await _permission(scene, wanted, may_wait=step.wait)
    if not step.wait:
        return
    is_allowed = answer is not None and answer.is_allowed
    await scene.voice.show(source, "tool-call", status="completed" if is_allowed else "failed")
    if not is_allowed:
        _end_if_told(step.on_reject)


async def _question(step: Question, scene: Scene, source: str) -> None:
    ask_id = step.ask_id or f"ask-{source}"
    wanted = QuestionWanted(
        ask_id=ask_id, questions=tuple(step.questions), turn_id=scene.voice.turn_id
    )
    answer = await _answer_to(scene, ask_id, QuestionAnswer, wanted, may_wait=step.wait)
    if step.echo and isinstance(answer, QuestionAnswer):
        words = "; ".join(", ".join(chosen) for chosen in answer.answers)
        await say(scene, f"{source}.echo", cut(f"You answered: {words}"))


def _end_if_told(on_reject: OnReject) -> None:
    if on_reject == "end":
        raise TurnOver("completed", stop_reason="rejected")


def _rejection(answer: PermissionAnswer | None) -> str:
    message = answer.message if answer is not None else None
    return f"Not allowed: {message}" if message else "Not allowed."


def _how(ended: Exit, complaint: str) -> str | None:
    if ended.code == 0:
        return None
    cause = f"exit code {ended.code}" if ended.code is not None else f"signal {ended.signal}"
    return f"{complaint}\n[ended with {cause}]" if complaint else f"[ended with {cause}]"


def _arguments(command: Sequence[str] | None) -> dict[str, Any]:
    return {"command": list(command)} if command else {}


def _json_text(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
