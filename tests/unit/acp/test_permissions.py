"""Permissions: asked with all that a person must see, answered once, settled in every case."""

from spaced.runtime.protocol import PermissionAnswer
from spaced.runtime.updates import (
    ItemUpserted,
    PermissionWanted,
)
from tests.unit.acp.hanging_turns import CALL, asked, finish, hanging
from tests.unit.acp.puppet import Stage


async def test_a_permission_is_answered_by_its_option(stage: Stage) -> None:
    """Several may mean the same, so what they mean does not choose."""
    puppet, connection = await hanging(stage)
    ask = await asked(stage, puppet)
    assert (ask.subject, ask.tool_kind, ask.turn_id) == ("rm x", "execute", "turn_1")
    assert [option["option_id"] for option in ask.options] == ["yes", "yes-a", "yes-b", "no"]
    answer = PermissionAnswer(option_id="yes-b", is_allowed=True)
    assert await connection.answer(ask.ask_id, answer) is True
    assert await connection.answer(ask.ask_id, answer) is False
    await stage.settle()
    assert puppet.answers()[90] == {"outcome": {"outcome": "selected", "optionId": "yes-b"}}


async def test_a_permission_may_come_before_its_call(stage: Stage) -> None:
    """The call is shown all the same, before anybody is asked."""
    puppet, _ = await hanging(stage)
    ask = await asked(stage, puppet)
    (item,) = [u for u in stage.sink.updates if isinstance(u, ItemUpserted)]
    assert (item.source, item.item["title"]) == (ask.source, "rm x")


async def test_a_permission_says_what_is_to_be_done(stage: Stage) -> None:
    """Its arguments are those that are allowed, whatever was told of the call before."""
    puppet, _ = await hanging(stage)
    puppet.update("tool_call", **{**CALL, "rawInput": {"command": "ls", "cwd": "/"}})
    ask = await asked(stage, puppet)
    assert ask.tool_call["arguments"] == '{"command": "rm x", "cwd": "/"}'


async def test_a_permission_without_arguments_is_like_no_other(stage: Stage) -> None:
    """Allowed for good, it must not cover every other call of that tool."""
    puppet, _ = await hanging(stage)
    call = {"toolCallId": "c1", "title": "rm x", "kind": "execute"}
    ask = await asked(stage, puppet, toolCall=call)
    assert ask.tool_call["arguments"] == '{"title": "rm x"}'
    assert ask.subject == "rm x"


async def test_a_permission_of_an_unknown_conversation_is_the_turns(stage: Stage) -> None:
    """An agent that the agent has started would wait for ever."""
    puppet, connection = await hanging(stage)
    ask = await asked(stage, puppet, sessionId="conv-of-a-child")
    assert ask.turn_id == "turn_1"
    await connection.answer(ask.ask_id, PermissionAnswer(option_id="no", is_allowed=False))
    await stage.settle()
    assert puppet.answers()[90]["outcome"]["optionId"] == "no"


async def test_a_permission_without_a_choice_is_settled_at_once(stage: Stage) -> None:
    """Nobody could answer it."""
    puppet, _ = await hanging(stage)
    fields = {"sessionId": "conv-1", "toolCall": CALL, "options": []}
    puppet.ask(90, "session/request_permission", **fields)
    finish(puppet)
    await stage.sink.end_of("turn_1")
    assert puppet.answers()[90] == {"outcome": {"outcome": "cancelled"}}
    assert not stage.sink.of(PermissionWanted)
