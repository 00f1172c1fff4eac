"""The steps of a script: each does what the table says."""

import json
from pathlib import Path
from typing import Any

import pytest

from spaced.testing.acp_agent.script import read_script
from tests.unit.acp_agent.agent_client import AgentClient

OPTIONS = ["allow", "always", "reject"]


def test_a_script_with_a_wrong_key_is_none() -> None:
    """A typing error must not become a friendly agent."""
    with pytest.raises(TypeError):
        read_script('{"turn": []}')


def test_it_says_things_in_pieces() -> None:
    """With a name or without one."""
    say = {"do": "say", "text": "abcdef", "pieces": 3, "id": "m1"}
    with AgentClient({"turns": [[say, {"do": "think", "text": "Hm."}]]}) as client:
        client.prompt(client.new())
        told = [(u["content"]["text"], u.get("messageId")) for u in client.updates()]
        assert told == [("ab", "m1"), ("cd", "m1"), ("ef", "m1"), ("Hm.", None)]
        assert client.updates()[-1]["sessionUpdate"] == "agent_thought_chunk"


def test_the_last_turn_is_played_again() -> None:
    """A script need not know how many prompts come."""
    turns = [[{"do": "say", "text": text}] for text in ("one ", "two ")]
    with AgentClient({"turns": turns}) as client:
        conversation = client.new()
        for _ in range(3):
            client.prompt(conversation)
        assert client.said() == "one two two "


def test_steps_can_take_the_place_of_an_answer() -> None:
    """A handshake goes wrong in as many ways as a turn."""
    on = {
        "session/new": [{"do": "answer", "result": {"sessionId": "conv-own"}}],
        "initialize": [{"do": "error", "code": -32099, "message": "no"}],
    }
    with AgentClient({"on": on}) as client:
        assert client.refused("initialize") == -32099
        assert client.new() == "conv-own"


def test_an_update_may_come_before_its_conversation() -> None:
    """And about any conversation that a script names."""
    update = {"sessionUpdate": "available_commands_update", "availableCommands": []}
    early = [{"do": "update", "update": update, "session": "conv-early"}]
    with AgentClient({"on": {"session/new": early}}) as client:
        client.new()
        (message,) = client.told
        assert message["params"]["sessionId"] == "conv-early"


def test_some_things_come_after_the_answer() -> None:
    """The turn is over, and the agent speaks."""
    later = {"do": "later", "steps": [{"do": "say", "text": "By the way."}]}
    with AgentClient({"turns": [[later]]}) as client:
        client.prompt(client.new())
        assert not client.told
        assert client.read()["params"]["update"]["content"]["text"] == "By the way."


@pytest.mark.parametrize(
    ("step", "written"),
    [
        ({"text": "42"}, b"42\n"),
        ({"text": '{"half'}, b'{"half\n'),
        ({"text": "x\r"}, b"x\r\n"),
        ({"hex": "c328"}, b"\xc3\x28\n"),
    ],
    ids=["a number", "half a message", "another end", "no text"],
)
def test_a_line_is_written_as_it_is(step: dict[str, Any], written: bytes) -> None:
    """Nothing of it is made better."""
    with AgentClient({"turns": [[{"do": "line", **step}]]}) as client:
        client.begin_prompt(client.new())
        assert client.line() == written


def test_a_flood_has_the_size_that_is_wanted() -> None:
    """In one message on the output, or as complaints that somebody has to read."""
    floods = [{"do": "flood", "bytes": 300_000, "on": "stdout"}, {"do": "flood", "bytes": 30_000}]
    with AgentClient({"turns": [floods]}) as client:
        client.prompt(client.new())
        assert len(client.said()) == 300_000
        client.end_of_input()
        _, complaints = client.process.communicate()
        assert len(complaints) == 30_000


def test_a_request_waits_for_its_answer() -> None:
    """Nothing follows before."""
    ask = {"do": "request", "method": "craft/drain", "params": {"a": 1}}
    with AgentClient({"turns": [[ask, {"do": "say", "text": "Now."}]]}) as client:
        prompt = client.begin_prompt(client.new())
        request = client.read()
        assert (request["method"], request["params"]) == ("craft/drain", {"a": 1})
        client.send({"id": request["id"], "error": {"code": -32601, "message": "no"}})
        client.finish(prompt)
        assert client.said() == "Now."


def test_a_login_is_wanted_until_it_was_made() -> None:
    """The code is the one that clients know."""
    with AgentClient({"login": True}) as client:
        assert client.refused("session/new", cwd="/") == -32000
        client.call("authenticate", methodId="key")
        assert client.new()


def test_what_is_forgotten_is_gone_for_good(tmp_path: Path) -> None:
    """The load tells nothing, and neither does the next."""
    with AgentClient(state=tmp_path) as client:
        conversation = client.new()
        client.prompt(conversation)
    for script in ({"forgets": True}, {}):
        with AgentClient(script, tmp_path) as client:
            client.call("session/load", sessionId=conversation)
            assert not client.updates()


def test_a_tool_runs_and_is_told(tmp_path: Path) -> None:
    """Pending, at work, and done with its output."""
    tool = {"do": "tool", "command": ["/bin/echo", "made"], "id": "c1"}
    with AgentClient({"turns": [[tool]]}, tmp_path) as client:
        client.prompt(client.new())
        states = [update["status"] for update in client.updates()]
        assert states == ["pending", "in_progress", "completed"]
        assert client.updates()[-1]["rawOutput"] == "made\n"


@pytest.mark.parametrize("option", OPTIONS)
def test_a_tool_waits_until_it_is_allowed(tmp_path: Path, option: str) -> None:
    """And does nothing if it is not."""
    made = tmp_path / "made"
    tool = {"do": "tool", "permission": True, "command": ["/usr/bin/env", "touch", str(made)]}
    with AgentClient({"turns": [[tool]]}) as client:
        prompt = client.begin_prompt(client.new())
        while (request := client.read()).get("method") != "session/request_permission":
            pass
        assert [one["optionId"] for one in request["params"]["options"]] == OPTIONS
        assert not made.exists()
        outcome = {"outcome": "selected", "optionId": option}
        client.send({"id": request["id"], "result": {"outcome": outcome}})
        client.finish(prompt)
        is_allowed = option != "reject"
        assert made.exists() is is_allowed
        assert client.updates()[-1]["status"] == ("completed" if is_allowed else "failed")


def test_choices_are_kept_and_told_in_full() -> None:
    """A client compares the whole state with what it wanted."""
    option = {"id": "mode", "currentValue": "auto", "options": [{"value": "ask", "name": "Ask"}]}
    with AgentClient({"conversation": {"configOptions": [option]}}) as client:
        conversation = client.new()
        chosen = {"sessionId": conversation, "configId": "mode", "value": "ask"}
        (after,) = client.call("session/set_config_option", **chosen)["configOptions"]
        assert after["currentValue"] == "ask"


def test_a_greeting_can_lie() -> None:
    """Another version, and capabilities that are there or not."""
    greeting = {"protocolVersion": 2, "agentCapabilities": {"loadSession": False}}
    with AgentClient({"greeting": greeting}) as client:
        told = client.call("initialize", protocolVersion=1)
        assert (told["protocolVersion"], told["agentCapabilities"]["loadSession"]) == (2, False)
        assert json.dumps(told["agentCapabilities"]["sessionCapabilities"])
