"""What the scripted agent ignores, and how it ends and what it leaves: all of it must be true."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.unit.acp_agent.agent_client import AgentClient, fifo_in

SAY = {"do": "say", "text": "I am at it."}


def test_a_cancel_ends_a_pause() -> None:
    """And the next prompt is not cancelled with it."""
    with AgentClient({"turns": [[SAY, {"do": "pause"}], [{"do": "echo"}]]}) as client:
        conversation = client.new()
        prompt = client.begin_prompt(conversation)
        client.read()
        client.cancel(conversation)
        assert client.finish(prompt)["result"] == {"stopReason": "cancelled"}
        assert client.prompt(conversation) == "end_turn"


def test_a_cancel_ends_a_tool(tmp_path: Path) -> None:
    """The command is gone before the answer is there."""
    fifo = fifo_in(tmp_path)
    tool = {"do": "tool", "command": ["/bin/sh", "-c", f"echo $$ > {fifo}; exec sleep 60"]}
    with AgentClient({"turns": [[tool]]}) as client:
        conversation = client.new()
        prompt = client.begin_prompt(conversation)
        tool_pid = int(fifo.read_text())
        client.cancel(conversation)
        assert client.finish(prompt)["result"]["stopReason"] == "cancelled"
        with pytest.raises(ProcessLookupError):
            os.kill(tool_pid, 0)


def test_a_cancel_can_be_ignored(tmp_path: Path) -> None:
    """The turn ends when its steps do, and as if nothing had been."""
    go = tmp_path / "go"
    script = {"ignores": ["cancel"], "turns": [[SAY, {"do": "wait", "file": str(go)}]]}
    with AgentClient(script) as client:
        conversation = client.new()
        prompt = client.begin_prompt(conversation)
        client.read()
        client.cancel(conversation)
        go.touch()
        assert client.finish(prompt)["result"]["stopReason"] == "end_turn"


def test_a_signal_can_be_ignored() -> None:
    """It answers afterwards as it did before."""
    with AgentClient({"ignores": ["sigterm"]}) as client:
        client.new()
        client.process.send_signal(signal.SIGTERM)
        assert client.new()


def test_a_signal_ends_any_other() -> None:
    """What ignores nothing is no trouble."""
    with AgentClient() as client:
        client.new()
        client.process.send_signal(signal.SIGTERM)
        assert client.ended() == -signal.SIGTERM


def test_the_end_of_the_input_can_be_ignored(tmp_path: Path) -> None:
    """Only a signal ends it then."""
    later = {"do": "later", "steps": [{"do": "line", "text": "still here"}]}
    script = {"ignores": ["eof"], "turns": [[{"do": "wait", "file": str(tmp_path / "go")}, later]]}
    with AgentClient(script) as client:
        client.begin_prompt(client.new())
        client.end_of_input()
        (tmp_path / "go").touch()
        client.read()
        assert client.line() == b"still here\n"
        client.process.send_signal(signal.SIGTERM)
        assert client.ended() == -signal.SIGTERM


@pytest.mark.parametrize(
    ("step", "code", "last", "complaint"),
    [
        ({"do": "exit"}, 1, b"", b""),
        ({"do": "exit", "code": 7, "complaint": "out of memory\n"}, 7, b"", b"out of memory\n"),
        ({"do": "exit", "code": 0, "line": '{"jsonrpc":'}, 0, b'{"jsonrpc":', b""),
        ({"do": "die"}, -9, b"", b""),
    ],
    ids=["exit", "with words", "in the middle of a line", "killed"],
)
def test_it_ends_in_any_way(step: dict[str, Any], code: int, last: bytes, complaint: bytes) -> None:
    """With a code, a complaint, half a line, or a signal."""
    with AgentClient({"turns": [[SAY, step]]}) as client:
        client.begin_prompt(client.new())
        client.read()
        assert client.line() == last
        assert client.ended() == code
        assert client.process.stderr is not None
        assert client.process.stderr.read() == complaint


@pytest.mark.parametrize("holds", [False, True])
def test_a_child_stays_when_the_agent_is_gone(tmp_path: Path, *, holds: bool) -> None:
    """In a session of its own; it finishes its work, which nobody may then be able to prevent."""
    fifo = fifo_in(tmp_path)
    spawn = {"do": "spawn", "wait": f"{tmp_path}/go", "write": str(fifo), "holds": holds}
    with AgentClient({"turns": [[spawn, {"do": "die"}]]}) as client:
        client.begin_prompt(client.new())
        code, output = client.ended(), client.process.stdout
        assert output is not None
        os.set_blocking(output.fileno(), False)
        is_held = output.read() is None
        (tmp_path / "go").touch()
        # Nothing is checked before the child has its way: it would wait for ever.
        assert fifo.read_text() == ""
        assert (code, is_held) == (-9, holds)
