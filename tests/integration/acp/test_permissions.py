"""Permissions: asked, answered by anybody, and never left open."""

from pathlib import Path
from typing import Any

import pytest

from spaced.domain.events.ask import AskExpired, PermissionAnswered, PermissionAsked
from tests.integration.acp.acp_house import AcpHouse

SAY = {"do": "say", "text": "Well.", "id": "m1"}


def touching(file: Path, **fields: Any) -> dict[str, Any]:
    """Return a step that makes a file, if it is allowed to."""
    command = ["/usr/bin/env", "touch", str(file)]
    return {
        "do": "tool",
        "title": f"touch {file}",
        "permission": True,
        "command": command,
        **fields,
    }


async def asked(acp: AcpHouse, chat: str) -> str:
    """Begin a turn that asks, and return the ask's id."""
    await acp.house.send(chat, "go")
    return await acp.house.until_asked(chat)


async def answer(acp: AcpHouse, ask: str, option: str) -> None:
    """Choose an option, as a client does."""
    await acp.house.engine.asks.answer_permission(ask, option_id=option)


@pytest.mark.parametrize(("option", "is_made"), [("allow", True), ("reject", False)])
async def test_a_tool_waits_for_its_answer(
    acp: AcpHouse, tmp_path: Path, option: str, is_made: bool
) -> None:
    """It is used if it is allowed, and shown as failed if it is not."""
    file = tmp_path / "made"
    chat = await acp.chat({"turns": [[touching(file), SAY]]})
    ask = await asked(acp, chat)
    assert not file.exists()
    await answer(acp, ask, option)
    await acp.house.idle(chat)
    (call,) = await acp.of(chat, "tool-call")
    assert (file.exists(), call["status"]) == (is_made, "completed" if is_made else "failed")
    assert await acp.said(chat) == ["Well."]


async def test_always_is_a_grant_of_ours(acp: AcpHouse, tmp_path: Path) -> None:
    """The agent is told "once" each time, and the person is not asked again for the same call."""
    file = tmp_path / "made"
    chat = await acp.chat({"turns": [[touching(file)]]})
    await answer(acp, await asked(acp, chat), "always")
    await acp.house.idle(chat)
    await acp.turn(chat, "again")
    assert (await acp.last_end(chat)).outcome == "completed"
    answers = await acp.house.found(chat, PermissionAnswered)
    assert [one.by for one in answers] == ["person", "grant"]
    told = [m for m in acp._journal("received") if "result" in m]
    assert [m["result"]["outcome"]["optionId"] for m in told] == ["allow", "allow"]


async def test_another_call_of_the_same_tool_is_asked_again(acp: AcpHouse, tmp_path: Path) -> None:
    """A grant is for this call, not for the tool."""
    turns = [[touching(tmp_path / "one")], [touching(tmp_path / "two")]]
    chat = await acp.chat({"turns": turns})
    await answer(acp, await asked(acp, chat), "always")
    await acp.house.idle(chat)
    await answer(acp, await asked(acp, chat), "reject")
    await acp.house.idle(chat)
    assert ((tmp_path / "one").exists(), (tmp_path / "two").exists()) == (True, False)


async def test_a_permission_of_another_conversation_is_the_sessions(
    acp: AcpHouse, tmp_path: Path
) -> None:
    """An agent that the agent has started asks under a name that nobody knows."""
    file = tmp_path / "made"
    chat = await acp.chat({"turns": [[touching(file, session="conv-child"), SAY]]})
    await answer(acp, await asked(acp, chat), "allow")
    await acp.house.idle(chat)
    assert file.exists()
    (call,) = await acp.of(chat, "tool-call")
    assert call["conversation"] == "conv-child"


async def test_an_interrupt_settles_what_is_open(acp: AcpHouse, tmp_path: Path) -> None:
    """The agent is told, the ask is closed, and the queue waits for a person."""
    chat = await acp.chat({"turns": [[touching(tmp_path / "made")], [{"do": "echo"}]]})
    await asked(acp, chat)
    await acp.house.send(chat, "queued")
    await acp.house.engine.control.interrupt(chat)
    await acp.house.idle(chat)
    assert (await acp.last_end(chat)).outcome == "interrupted"
    assert len(await acp.house.found(chat, AskExpired)) == 1
    assert not (tmp_path / "made").exists()
    assert len(acp.prompts()) == 1
    await acp.house.engine.queue.resume(chat)
    await acp.house.idle(chat)
    assert await acp.said(chat) == ["queued"]
    await acp.check_prompts(chat)


async def test_an_agent_that_dies_takes_its_asks_along(acp: AcpHouse, tmp_path: Path) -> None:
    """Nobody would ever hear the answer."""
    turn = [
        {"do": "update", "update": {"sessionUpdate": "tool_call", "toolCallId": "c1"}},
        {"do": "touch", "file": str(tmp_path / "began")},
        touching(tmp_path / "made"),
    ]
    chat = await acp.chat({"turns": [turn]})
    ask = await asked(acp, chat)
    (child,) = acp.house.engine._processes.children_of(acp.house.engine.executions.all()[0].id)
    await child.stop(0)
    await acp.house.idle(chat)
    assert (await acp.problem(chat)).code == "agent-crashed"
    assert (await acp.house.engine.asks.get(ask)).status == "expired"
    assert {call["status"] for call in await acp.of(chat, "tool-call")} == {"interrupted"}


async def test_a_rule_answers_for_nobody(acp: AcpHouse, tmp_path: Path) -> None:
    """A headless profile refuses at once instead of waiting for ever."""
    chat = await acp.chat({"turns": [[touching(tmp_path / "made"), SAY]]}, headless=True)
    assert (await acp.turn(chat)).outcome == "completed"
    assert not (tmp_path / "made").exists()
    (request,) = await acp.house.found(chat, PermissionAsked)
    assert request.subject == f"/usr/bin/env touch {tmp_path / 'made'}"


async def test_a_permission_may_be_the_first_sight_of_its_call(acp: AcpHouse) -> None:
    """The call is shown with what is asked, and is no second one when it is told later."""
    (acp.memory).mkdir(exist_ok=True)
    (acp.memory / "conv-known.json").write_text("[]")
    begun = {"do": "answer", "result": {"sessionId": "conv-known"}}
    call = {"toolCallId": "c1", "title": "rm x", "kind": "delete", "rawInput": {"path": "x"}}
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    params = {"sessionId": "conv-known", "toolCall": call, "options": options}
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}
    turn = [
        {"do": "request", "method": "session/request_permission", "params": params},
        {"do": "update", "update": {"sessionUpdate": "tool_call", **call}},
        {"do": "update", "update": done},
    ]
    chat = await acp.chat({"on": {"session/new": [begun]}, "turns": [turn]})
    ask = await asked(acp, chat)
    (shown,) = await acp.of(chat, "tool-call")
    assert (shown["call_id"], shown["title"]) == ("c1", "rm x")
    await answer(acp, ask, "yes")
    await acp.house.idle(chat)
    (call_after,) = await acp.of(chat, "tool-call")
    assert (call_after["status"], "conversation" in call_after) == ("completed", False)
