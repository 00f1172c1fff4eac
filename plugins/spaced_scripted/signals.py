"""Steps that tell the daemon something beside the transcript, and steps that only wait."""

import asyncio
from typing import assert_never

from spaced.plugin_api import (
    AgentRetrying,
    ContinuityChanged,
    ConversationLost,
    SessionInfoChanged,
    UnknownReport,
    UsageChanged,
)
from spaced_scripted.pieces import cut
from spaced_scripted.speech import say
from spaced_scripted.stage import Scene, text_of
from spaced_scripted.steps import (
    Continuity,
    Gate,
    Hang,
    Info,
    LoseConversation,
    Pause,
    Retrying,
    Signal,
    Steered,
    Unknown,
    Usage,
    Wait,
)


async def signal(step: Signal, scene: Scene) -> None:
    """Play a step that reports no item."""
    voice, turn_id = scene.voice, scene.voice.turn_id
    match step:
        case Usage(usage=usage):
            await voice.report(UsageChanged(usage=usage, turn_id=turn_id))
        case Info(info=info):
            await voice.report(SessionInfoChanged(info=info, turn_id=turn_id))
        case Retrying(attempt=attempt, message=message, next_in_ms=next_in_ms):
            await voice.report(
                AgentRetrying(
                    attempt=attempt, message=message, next_in_ms=next_in_ms, turn_id=turn_id
                )
            )
        case Unknown(kind=kind, payload=payload):
            await voice.report(UnknownReport(kind=kind, payload=payload, turn_id=turn_id))
        case Continuity():
            await tell_continuity(scene)
        case LoseConversation(message=message):
            await _lose_conversation(scene, message)
        case _:
            assert_never(step)


async def pause(step: Pause, scene: Scene, source: str) -> None:
    """Play a step that waits."""
    match step:
        case Wait(ms=milliseconds):
            await scene.stage.clock.sleep(milliseconds)
        case Gate(name=name):
            await scene.stage.gates.pass_through(name)
        case Steered(count=wanted):
            await _until_steered(scene, wanted)
            await say(scene, source, cut(_steered_text(scene)))
        case Hang():
            await asyncio.get_running_loop().create_future()
        case _:
            assert_never(step)


async def tell_continuity(scene: Scene) -> None:
    """Report what continues the conversation."""
    continuity = scene.stage.conversation.continuity()
    scene.stage.is_told = True
    await scene.voice.report(ContinuityChanged(continuity=continuity, turn_id=scene.voice.turn_id))


async def _lose_conversation(scene: Scene, message: str) -> None:
    stage = scene.stage
    lost = stage.conversation
    stage.begin_conversation()
    # The turn that is being played counts: its sources must not be used again.
    stage.conversation.begun = 1
    stage.conversation.turn, lost.turn = lost.turn, None
    stage.conversation.is_reachable = lost.is_reachable
    await stage.memory.forget(lost)
    await stage.memory.save(stage.conversation)
    await scene.voice.report(ConversationLost(message=message, turn_id=scene.voice.turn_id))
    await tell_continuity(scene)


async def _until_steered(scene: Scene, wanted: int) -> None:
    while scene.record.steered < wanted:
        scene.steered.clear()
        await scene.steered.wait()


def _steered_text(scene: Scene) -> str:
    steered = scene.record.prompts[len(scene.record.prompts) - scene.record.steered :]
    return "\n\n".join(text_of(prompt) for prompt in steered)
