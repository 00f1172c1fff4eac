"""Commands as agents, through the engine: their text, their end, and nothing left of them."""

import os
from pathlib import Path
from typing import Any

import pytest

from spaced.clock import SystemClock
from spaced.domain.chat import ChatRequest
from spaced.domain.events.session import SessionReset
from spaced.domain.events.turn import TurnEnded
from tests.contract.command_harness import command_profile
from tests.integration.engine.house import House, Houses


@pytest.fixture
async def house(houses: Houses) -> House:
    """An engine by the machine's clock."""
    return await houses.open(clock=SystemClock(), environment={"PATH": os.environ["PATH"]})


async def chat_with(house: House, program: str, **fields: Any) -> str:
    """Create a chat whose agent is a Python program."""
    made = await house.engine.profiles.create(command_profile(program, **fields))
    request = ChatRequest(profile_id=made.id, directory=str(house.workplace))
    return (await house.engine.sessions.create(request)).id


async def last_end(house: House, chat: str) -> TurnEnded:
    """Return how the last turn ended."""
    end: TurnEnded = (await house.found(chat, TurnEnded))[-1]
    return end


@pytest.mark.parametrize(
    ("prompt", "program"),
    [
        ("stdin", "import sys; print(sys.stdin.read(), end='')"),
        ("argument", "import sys; print(sys.argv[-1].strip(), end='')"),
        ("file", "import sys; print(open(sys.argv[-1]).read(), end='')"),
    ],
)
async def test_a_command_is_prompted_in_its_way(house: House, prompt: str, program: str) -> None:
    """And the private file of a prompt is gone afterwards."""
    chat = await chat_with(house, program, options={"prompt": prompt})
    text = "--help me: héllo\nand 'more'"
    await house.turn(chat, text)
    assert await house.texts(chat) == [f"user: {text}", f"assistant: {text}"]
    assert not list((house.folder / "state").rglob("*.txt"))


async def test_a_command_that_fails_says_why(house: House) -> None:
    """With its exit code and its last words; what it printed is kept."""
    chat = await chat_with(house, "import sys; print('half'); sys.exit('no such model')")
    await house.turn(chat)
    end = await last_end(house, chat)
    assert end.problem is not None
    assert (end.outcome, end.problem.code) == ("failed", "command-failed")
    assert "exit code 1; its last words: no such model" in end.problem.message
    assert (await house.texts(chat))[-1] == "assistant: half\n"


@pytest.mark.parametrize(
    ("program", "options", "words"),
    [
        ("import os; os.kill(os.getpid(), 9)", {}, "signal 9"),
        ("import threading; threading.Event().wait()", {"timeout_seconds": 0.3}, "0.3 seconds"),
        (
            'print(\'{"type":"turn.failed","error":{"message":"overloaded"}}\')',
            {"output": "codex"},
            "overloaded",
        ),
    ],
    ids=["killed", "too slow", "told"],
)
async def test_a_bad_end_is_told(
    house: House, program: str, options: dict[str, Any], words: str
) -> None:
    """Whatever it is, the next turn can be had."""
    chat = await chat_with(house, program, options=options)
    await house.turn(chat)
    problem = (await last_end(house, chat)).problem
    assert problem is not None
    assert words in problem.message
    assert (await house.session(chat)).status == "idle"


async def test_an_interrupt_ends_a_command_and_all_that_it_started(
    house: House, tmp_path: Path
) -> None:
    """Also what leads a session of its own and ignores every polite word."""
    child = (
        "import os, signal, threading\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"while not os.path.exists({str(tmp_path / 'go')!r}): threading.Event().wait(0.01)\n"
        f"open({str(tmp_path / 'done')!r}, 'w').close()\n"
    )
    program = (
        "import signal, subprocess, sys, threading\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True)\n"
        "print('at it', flush=True)\n"
        "threading.Event().wait()\n"
    )
    chat = await chat_with(house, program, cancel_grace_ms=100)
    await house.send(chat, "go")
    await house.until_word(chat, "busy")
    await house.engine.control.interrupt(chat)
    await house.idle(chat)
    assert (await last_end(house, chat)).outcome == "interrupted"
    (tmp_path / "go").touch()
    assert not (await house.storage.list_rows("process")).rows
    assert not (tmp_path / "done").exists()


async def test_a_child_that_holds_the_output_holds_nothing_up(house: House) -> None:
    """The turn ends with the command."""
    program = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import threading; threading.Event().wait()'])\n"
        "print('done', end='', flush=True)\n"
    )
    chat = await chat_with(house, program)
    await house.turn(chat)
    assert (await house.texts(chat))[-1] == "assistant: done"
    assert (await last_end(house, chat)).outcome == "completed"


async def test_much_output_is_streamed(house: House) -> None:
    """Three megabytes, of which nothing is missing."""
    chat = await chat_with(house, "print('0123456789' * 300_000, end='')")
    await house.turn(chat)
    (text,) = [item for item in await house.items(chat) if item.get("role") == "assistant"]
    assert len(str(text["content"])) == 3_000_000


_REMEMBERS = """
import json, os, sys
known = sys.argv[sys.argv.index("--resume") + 1] if "--resume" in sys.argv else "conv-1"
if known != "conv-1" or (len(sys.argv) > 1 and not os.path.exists("memory")):
    sys.exit("No conversation found with session ID: " + known)
open("memory", "a").write(sys.stdin.read() + ";")
said = {"role": "assistant", "content": [{"type": "text", "text": open("memory").read()}]}
print(json.dumps({"type": "assistant", "message": said, "session_id": known}))
"""


async def test_a_conversation_goes_on_over_restarts(houses: Houses, house: House) -> None:
    """Where the tool names it; and one that the tool has lost is begun anew, aloud."""
    options = {"output": "claude", "resume": ["--resume", "{id}"]}
    chat = await chat_with(house, _REMEMBERS, options=options)
    await house.turn(chat, "one")
    house = await houses.restart(
        house, clock=SystemClock(), environment={"PATH": os.environ["PATH"]}
    )
    await house.turn(chat, "two")
    assert (await house.texts(chat))[-1] == "assistant: one;two;"

    (house.workplace / "memory").unlink()
    await house.turn(chat, "three")
    (reset,) = await house.found(chat, SessionReset)
    assert reset.reason == "lost"
    last = (await house.texts(chat))[-1]
    assert last.startswith("assistant: ")
    assert "three" in last
    assert (await last_end(house, chat)).outcome == "completed"


async def test_a_prompt_that_is_too_long_for_an_argument_is_refused(house: House) -> None:
    """With what to do about it, and nothing is started."""
    chat = await chat_with(house, "pass", options={"prompt": "argument"})
    await house.send(chat, "x" * 200_000)
    await house.until_word(chat, "retry")
    status = house.engine.coordinator.status(chat)
    assert "too long" in (status.message or "")
    await house.engine.control.interrupt(chat)
    await house.idle(chat)


async def test_the_model_and_the_mode_are_given_as_flags(house: House) -> None:
    """Where the tool has flags for them."""
    options = {"model_flag": "--model", "mode_flag": "--mode"}
    program = "import sys; print(sys.argv[1:], end='')"
    chat = await chat_with(house, program, options=options, model="m", mode="plan")
    await house.turn(chat)
    assert (await house.texts(chat))[-1] == "assistant: ['--model', 'm', '--mode', 'plan']"
