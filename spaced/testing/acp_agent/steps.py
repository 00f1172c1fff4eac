"""Plays the steps of a script."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from spaced.testing.acp_agent.stage import Answered, Stage
from spaced.testing.acp_agent.tools import run_tool

Step = dict[str, Any]

_MOMENT: Final = 0.01


def play(steps: Iterable[Step], stage: Stage) -> None:
    """Play steps one after the other.

    Raises:
        Answered: one of them has answered the request.
        Cancelled: the turn was cancelled.
    """
    for step in steps:
        stage.check_cancel()
        _STEPS[step["do"]](step, stage)


def _echo(step: Step, stage: Stage) -> None:
    blocks = stage.request["params"]["prompt"]
    text = "\n\n".join(block["text"] for block in blocks if block["type"] == "text")
    _say({"text": text, "id": step.get("id", stage.next_name())}, stage)


def _recall(_: Step, stage: Stage) -> None:
    told = stage.memory.load(stage.conversation) or []
    mine = [u["content"]["text"] for u in told if u["sessionUpdate"] == "user_message_chunk"]
    _say({"text": "\n".join(mine), "id": stage.next_name()}, stage)


def _say(step: Step, stage: Stage, kind: str = "agent_message_chunk") -> None:
    text, pieces = step["text"], step.get("pieces", 1)
    size = max(-(-len(text) // pieces), 1)
    named = {"messageId": step["id"]} if step.get("id") else {}
    for at in range(0, len(text), size):
        content = {"type": "text", "text": text[at : at + size]}
        stage.update({"sessionUpdate": kind, "content": content, **named})


def _think(step: Step, stage: Stage) -> None:
    _say(step, stage, "agent_thought_chunk")


def _plan(step: Step, stage: Stage) -> None:
    stage.update({"sessionUpdate": "plan", "entries": step["entries"]})


def _update(step: Step, stage: Stage) -> None:
    stage.update(step["update"], step.get("session"))


def _notify(step: Step, stage: Stage) -> None:
    stage.wire.send({"method": step["method"], "params": step.get("params", {})})


def _request(step: Step, stage: Stage) -> None:
    stage.wire.ask(step["method"], step.get("params", {}))


def _line(step: Step, stage: Stage) -> None:
    data = bytes.fromhex(step["hex"]) if "hex" in step else step["text"].encode()
    for _ in range(step.get("times", 1)):
        stage.wire.write(data + b"\n")


def _flood(step: Step, stage: Stage) -> None:
    if step.get("on", "stderr") == "stderr":
        sys.stderr.buffer.write(b"complaint\n" * (step["bytes"] // 10))
        sys.stderr.buffer.flush()
    else:
        _say({"text": "x" * step["bytes"], "id": stage.next_name()}, stage)


def _spawn(step: Step, _: Stage) -> None:
    program = (
        "import os, sys, threading\n"
        "while not os.path.exists(sys.argv[1]): threading.Event().wait(0.01)\n"
        "open(sys.argv[2], 'w').close()\n"
    )
    command = [sys.executable, "-c", program, step["wait"], step["write"]]
    subprocess.Popen(  # noqa: S603 - a child that is meant to be left behind
        command,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=None if step.get("holds") else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _wait(step: Step, stage: Stage) -> None:
    while not os.path.exists(step["file"]):  # noqa: PTH110 - as cheap as it gets
        stage.wait(_MOMENT)


def _touch(step: Step, _: Stage) -> None:
    Path(step["file"]).touch()


def _pause(_: Step, stage: Stage) -> None:
    while True:
        stage.wait(3600)


def _hang(_: Step, __: Stage) -> None:
    threading.Event().wait()


def _answer(step: Step, stage: Stage) -> None:
    stage.answer(step.get("result", {}))
    raise Answered


def _error(step: Step, stage: Stage) -> None:
    stage.fail(step.get("code", -32603), step.get("message", "a fault"))
    raise Answered


def _later(step: Step, stage: Stage) -> None:
    stage.afterwards += step["steps"]


def _exit(step: Step, stage: Stage) -> None:
    if "line" in step:
        stage.wire.write(step["line"].encode())
    if "complaint" in step:
        sys.stderr.write(step["complaint"])
        sys.stderr.flush()
    os._exit(step.get("code", 1))


def _die(_: Step, __: Stage) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


_STEPS: Final[dict[str, Callable[[Step, Stage], None]]] = {
    "echo": _echo,
    "recall": _recall,
    "say": _say,
    "think": _think,
    "tool": run_tool,
    "plan": _plan,
    "update": _update,
    "notify": _notify,
    "request": _request,
    "line": _line,
    "flood": _flood,
    "spawn": _spawn,
    "wait": _wait,
    "touch": _touch,
    "pause": _pause,
    "hang": _hang,
    "answer": _answer,
    "error": _error,
    "later": _later,
    "exit": _exit,
    "die": _die,
}
