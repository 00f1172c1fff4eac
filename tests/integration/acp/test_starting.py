"""Agents that do not start as they should: the session says why, and works once they do."""

from typing import Any

import pytest

from tests.integration.acp.acp_house import AcpHouse

QUICK = {"start_seconds": 0.5, "session_seconds": 0.5}
HANG = [{"do": "hang"}]


@pytest.mark.parametrize(
    ("script", "options", "code", "words"),
    [
        ({"on": {"initialize": HANG}}, QUICK, "agent-silent", "'initialize' within 0.5 seconds"),
        ({"on": {"session/new": HANG}}, QUICK, "agent-silent", "'session/new'"),
        (
            {"on": {"initialize": [{"do": "exit", "code": 4, "complaint": "no such model\n"}]}},
            {},
            "agent-not-started",
            "exit code 4 at 'initialize'; its last words: no such model",
        ),
        ({"on": {"initialize": [{"do": "die"}]}}, {}, "agent-not-started", "signal 9"),
        (
            {"on": {"initialize": [{"do": "exit", "code": 0, "line": '{"jsonrpc":"2.0","id":1'}]}},
            {},
            "agent-not-started",
            "exit code 0",
        ),
        ({"greeting": {"protocolVersion": 2}}, {}, "agent-protocol", "version 2"),
        ({"login": True}, {}, "agent-login-needed", "wants a login"),
        (
            {"on": {"authenticate": [{"do": "error", "message": "bad key"}]}},
            {"auth_method": "key"},
            "agent-login-needed",
            "bad key",
        ),
        (
            {"on": {"session/new": [{"do": "error", "message": "root is not allowed"}]}},
            {},
            "agent-not-started",
            "root is not allowed",
        ),
        (
            {"on": {"initialize": [{"do": "line", "text": "usage: agent", "times": 1100}]}},
            {},
            "agent-not-started",
            "'initialize'",
        ),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value)[:30],
)
async def test_a_bad_start_is_told_and_costs_nothing(
    acp: AcpHouse, script: dict[str, Any], options: dict[str, Any], code: str, words: str
) -> None:
    """The prompt was never handed over, so it waits; mended, the agent gets it, once."""
    chat = await acp.chat(script, options=options)
    end = await acp.turn(chat, "first")
    problem = await acp.problem(chat)
    assert (end.outcome, problem.code) == ("not-dispatched", code)
    assert words in problem.message
    assert not acp.prompts()
    acp.check_nothing_is_left()

    await acp.retell(chat, {})
    assert (await acp.turn(chat, "second")).outcome == "completed"
    assert await acp.said(chat) == ["first", "second"]
    await acp.check_prompts(chat)


async def test_a_program_that_is_not_there_is_named(acp: AcpHouse) -> None:
    """With its path, so that a typing error is seen."""
    chat = await acp.chat()
    await acp.retell(chat, {}, command=("/nowhere/agent",))
    await acp.turn(chat)
    problem = await acp.problem(chat)
    assert (problem.code, "/nowhere/agent" in problem.message) == ("spawn-refused", True)


async def test_an_agent_that_wants_a_login_gets_the_profiles(acp: AcpHouse) -> None:
    """A method that the profile names is used before anything else."""
    chat = await acp.chat({"login": True}, options={"auth_method": "key"})
    assert (await acp.turn(chat)).outcome == "completed"
    assert len(acp.received("authenticate")) == 1


async def test_junk_before_the_greeting_is_passed_over(acp: AcpHouse) -> None:
    """Package managers and loggers print before the program speaks."""
    junk = [
        {"do": "line", "text": "npm warn deprecated thing@1.0"},
        {"do": "line", "text": "42"},
        {"do": "line", "text": '{"level":30,"msg":"listening"}'},
        {"do": "line", "hex": "fffe00c3"},
        {"do": "line", "text": ""},
    ]
    chat = await acp.chat({"on": {"initialize": junk}})
    assert (await acp.turn(chat)).outcome == "completed"


async def test_an_update_before_its_conversation_is_kept(acp: AcpHouse) -> None:
    """Some tell their commands before they have answered."""
    update = {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "init"}]}
    early = [{"do": "update", "update": update, "session": "conv-not-yet-known"}]
    chat = await acp.chat({"on": {"session/new": early}})
    await acp.turn(chat)
    await acp.close_agents()
    data: Any = (await acp.house.session(chat)).data
    assert data["info"]["commands"] == [{"name": "init"}]


async def test_a_flood_of_complaints_blocks_nobody(acp: AcpHouse) -> None:
    """A pipe that nobody reads would stop the agent for ever."""
    flood = {"do": "flood", "bytes": 1024 * 1024}
    chat = await acp.chat({"on": {"initialize": [flood]}, "turns": [[flood, {"do": "echo"}]]})
    assert (await acp.turn(chat, "hello")).outcome == "completed"
    assert await acp.said(chat) == ["hello"]
