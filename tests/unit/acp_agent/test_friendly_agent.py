"""The scripted agent without a script, and what it remembers from one process to the next."""

import json
import subprocess
import sys
from pathlib import Path

from tests.unit.acp_agent.agent_client import AgentClient


def test_it_is_cheap_to_start() -> None:
    """Hundreds of tests start it; it needs nothing of spaced but its own few modules."""
    program = "import spaced.testing.acp_agent.__main__, sys; print(*sys.modules)"
    command = [sys.executable, "-I", "-c", program]
    modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    ours = {name for name in modules if name.startswith("spaced")}
    strange = {name for name in ours if not name.startswith("spaced.testing.acp_agent")}
    assert strange == {"spaced", "spaced.testing"}
    assert "asyncio" not in modules


def test_it_repeats_what_it_is_told() -> None:
    """An empty script is a friendly agent of version 1."""
    with AgentClient() as client:
        greeting = client.call("initialize", protocolVersion=1)
        assert (greeting["protocolVersion"], greeting["agentCapabilities"]["loadSession"]) == (
            1,
            True,
        )
        assert client.prompt(client.new(), "hello") == "end_turn"
        assert client.said() == "hello"


def test_it_refuses_what_it_does_not_know() -> None:
    """With the codes of the protocol, as real agents do."""
    with AgentClient() as client:
        assert client.refused("session/unheard") == -32601
        assert client.refused("session/load", sessionId="conv-none") == -32002
        assert client.refused("session/prompt", sessionId="conv-none", prompt=[]) == -32002


def test_it_ends_with_its_input() -> None:
    """That is how a client that is polite ends an agent."""
    with AgentClient() as client:
        client.new()
        client.end_of_input()
        assert client.ended() == 0


def test_a_later_process_remembers(tmp_path: Path) -> None:
    """A load tells everything again, a resume nothing, and both know what was said."""
    with AgentClient(state=tmp_path) as client:
        conversation = client.new()
        client.prompt(conversation, "first")
    with AgentClient({"turns": [[{"do": "recall"}]]}, tmp_path) as client:
        assert client.call("session/list")["sessions"] == [{"sessionId": conversation, "cwd": "/"}]
        client.call("session/resume", sessionId=conversation)
        assert not client.told
        client.prompt(conversation, "second")
        assert client.said() == "first\nsecond"
    with AgentClient(state=tmp_path) as client:
        client.call("session/load", sessionId=conversation)
        kinds = [update["sessionUpdate"] for update in client.updates()]
        assert kinds == ["user_message_chunk", "agent_message_chunk"] * 2


def test_a_turn_that_is_cut_off_is_half_forgotten(tmp_path: Path) -> None:
    """The prompt is kept and the answer is not, as with most real agents."""
    script = {"turns": [[{"do": "say", "text": "half"}, {"do": "die"}]]}
    with AgentClient(script, tmp_path) as client:
        conversation = client.new()
        client.begin_prompt(conversation, "first")
        client.read()
        assert client.ended() == -9
    with AgentClient(state=tmp_path) as client:
        client.call("session/load", sessionId=conversation)
        (update,) = client.updates()
        assert update["content"]["text"] == "first"


def test_all_that_it_gets_is_in_its_journals(tmp_path: Path) -> None:
    """So that a test can prove that it got this, once, and nothing else."""
    with AgentClient(state=tmp_path) as client:
        conversation = client.new()
        client.prompt(conversation, "once")
        client.cancel(conversation)
        client.prompt(conversation, "twice")
    prompts = [json.loads(line) for line in (tmp_path / "prompts.jsonl").read_text().splitlines()]
    assert [(p["session"], p["prompt"][0]["text"]) for p in prompts] == [
        (conversation, "once"),
        (conversation, "twice"),
    ]
    received = (tmp_path / "received.jsonl").read_text().splitlines()
    assert [json.loads(line)["method"] for line in received] == [
        "session/new",
        "session/prompt",
        "session/cancel",
        "session/prompt",
    ]
