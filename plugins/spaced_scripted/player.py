"""Plays steps: each kind by the module of its family, and those that steer the turn itself here."""

from collections.abc import Sequence
from typing import assert_never

from spaced.plugin_api import Problem
from spaced_scripted.asking import ask
from spaced_scripted.endings import AgentCrashed, TurnOver, TurnRefused
from spaced_scripted.execution import crash_execution
from spaced_scripted.signals import pause, signal
from spaced_scripted.speech import speak
from spaced_scripted.stage import Scene
from spaced_scripted.steps import (
    Asking,
    Background,
    Control,
    Crash,
    End,
    Fail,
    Late,
    NotTaken,
    Pause,
    RefuseToStop,
    Signal,
    Speech,
    Step,
)
from spaced_scripted.voice import Voice


async def play_afterwards(steps: Sequence[Step], scene: Scene) -> None:
    """Play steps that belong to no turn any more, or to one that has ended."""
    try:
        for number, step in enumerate(steps, start=1):
            await play(step, scene, number)
    except AgentCrashed as crash:
        await crash_execution(scene.stage, str(crash))
    except (TurnOver, TurnRefused):
        return


async def play(step: Step, scene: Scene, number: int) -> None:
    """Play one step.

    Raises:
        TurnOver, TurnRefused, AgentCrashed: it ends the turn.
    """
    source = f"{scene.voice.prefix}.{number}"
    if isinstance(step, Speech):
        await speak(step, scene, source)
    elif isinstance(step, Asking):
        await ask(step, scene, source)
    elif isinstance(step, Signal):
        await signal(step, scene)
    elif isinstance(step, Pause):
        await pause(step, scene, source)
    else:
        _control(step, scene, source)


def _control(step: Control, scene: Scene, source: str) -> None:
    match step:
        case RefuseToStop():
            scene.keeps_going = True
        case NotTaken():
            _refuse(step, scene)
        case Fail(message=message, code=code):
            raise TurnOver("failed", problem=Problem(code=code, message=message))
        case End(outcome=outcome, stop_reason=stop_reason):
            raise TurnOver(outcome, stop_reason=stop_reason)
        case Crash(message=message):
            raise AgentCrashed(message)
        case Background(steps=steps, after=after):
            _go_on(scene, Voice(scene.stage.reporter, turn_id=None, prefix=source), steps, after)
        case Late(steps=steps):
            turn_id = scene.voice.turn_id
            _go_on(scene, Voice(scene.stage.reporter, turn_id=turn_id, prefix=source), steps)
        case _:
            assert_never(step)


def _refuse(step: NotTaken, scene: Scene) -> None:
    refused = scene.stage.conversation.refused
    times = refused.get(scene.record.id, 0)
    if times < step.times:
        refused[scene.record.id] = times + 1
        raise TurnRefused(step.message, after_ms=step.after_ms)


def _go_on(scene: Scene, voice: Voice, steps: Sequence[Step], after: str = "turn") -> None:
    if after == "turn":
        scene.afterwards.append((voice, steps))
    else:
        start_afterwards(scene, voice, steps)


def start_afterwards(scene: Scene, voice: Voice, steps: Sequence[Step]) -> None:
    """Play steps in a task that outlives the turn."""
    own = Scene(stage=scene.stage, voice=voice, record=scene.record)
    scene.stage.tasks.start(play_afterwards(steps, own), name="scripted afterwards")
