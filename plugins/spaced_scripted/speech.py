"""Steps that add to the transcript."""

from collections.abc import Iterable
from typing import assert_never

from spaced_scripted.pieces import cut, flood
from spaced_scripted.stage import Scene, text_of
from spaced_scripted.steps import Echo, Flood, Plan, Raw, Recall, Say, Speech, Think

_STREAMING = {"stream_status": "streaming"}


async def speak(step: Speech, scene: Scene, source: str) -> None:
    """Play a step that says or shows something."""
    match step:
        case Say(text=text, pieces=pieces, piece_length=length):
            parts = cut(text, pieces=pieces, length=length, cut_pairs=step.cut_pairs)
            await say(scene, step.source or source, parts)
        case Think(text=text, pieces=pieces, piece_length=length):
            parts = cut(text, pieces=pieces, length=length)
            await _think(scene, step.source or source, parts)
        case Plan(entries=entries):
            await scene.voice.show(step.source or source, "plan", entries=entries)
        case Echo():
            await say(scene, source, cut(_given(step, scene)))
        case Recall():
            await say(scene, source, cut(_remembered(scene)))
        case Flood():
            await _flood(step, scene, source)
        case Raw(item=item):
            await scene.voice.show_item(step.source or source, item, call=step.round)
        case _:
            assert_never(step)


async def say(scene: Scene, source: str, pieces: Iterable[str], *, is_kept: bool = True) -> None:
    """Say a text as one message of the assistant."""
    opening = {"type": "message", "role": "assistant", **_STREAMING}
    await scene.voice.stream(source, pieces, opens_with=opening, is_kept=is_kept)
    await scene.voice.show(source, "message", role="assistant", stream_status="complete")


async def _think(scene: Scene, source: str, pieces: Iterable[str]) -> None:
    opening = {"type": "reasoning", **_STREAMING}
    await scene.voice.stream(source, pieces, opens_with=opening)
    await scene.voice.show(source, "reasoning", stream_status="complete")


async def _flood(step: Flood, scene: Scene, source: str) -> None:
    lines = flood(step.bytes, line_length=step.line_length, piece=step.piece_bytes)
    if step.field == "content":
        await say(scene, source, lines, is_kept=False)
        return
    result, call_id = f"{source}.result", source
    called = {"call_id": call_id, "name": "flood"}
    await scene.voice.show(source, "tool-call", **called, kind="other", status="running")
    opening = {"type": "tool-result", **called}
    await scene.voice.stream(result, lines, opens_with=opening, is_kept=False)
    await scene.voice.show(result, "tool-result", **called, is_error=False)
    await scene.voice.show(source, "tool-call", status="completed")


def _given(step: Echo, scene: Scene) -> str:
    record = scene.record
    prompts = "\n\n".join(text_of(prompt) for prompt in record.prompts)
    match step.what:
        case "prompts":
            return prompts
        case "instructions":
            return record.instructions
        case "history":
            return record.history
        case "everything":
            parts = (record.history, record.instructions, prompts)
            return "\n\n".join(part for part in parts if part)
        case _:
            assert_never(step.what)


def _remembered(scene: Scene) -> str:
    said = scene.stage.conversation.said
    lines = [
        f"{number}. {text.splitlines()[0] if text else ''}" for number, text in enumerate(said, 1)
    ]
    return "You said:\n\n" + "\n".join(lines)
