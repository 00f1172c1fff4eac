"""Permissions and questions: recorded if nobody looks, answered once, settled by rules and grants."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from spaced.domain.events.ask import PermissionAnswered, PermissionAsked
from spaced.domain.events.prompt import PromptAdmitted
from spaced.domain.json_values import JsonObject
from spaced.errors import InvalidRule, SpacedError
from spaced.refusals import AskAnswered, AskChanged, AskExpired, InvalidRequest, UnknownAsk
from spaced.runtime.updates import ItemUpserted, PermissionWanted
from spaced.testing.samples import next_turn
from tests.integration.engine.house import PATIENCE, House, Houses, say

TOOL = {"do": "tool", "name": "write", "kind": "edit", "permission": True, "output": "written"}
QUESTION = {"do": "question", "questions": [{"text": "Which?"}], "echo": True}
LEFT_OPEN = {"do": "question", "questions": [{"text": "Which?"}], "wait": False}


async def _option(house: House, ask_id: str, kind: str) -> str:
    ask = await house.engine.asks.get(ask_id)
    assert ask.permission is not None
    return next(str(o["option_id"]) for o in ask.permission.options if o["kind"] == kind)


async def _answer(house: House, ask_id: str, kind: str = "allow_once", **fields: Any) -> None:
    option_id = await _option(house, ask_id, kind)
    await house.engine.asks.answer_permission(ask_id, option_id=option_id, **fields)


async def _results(house: House, chat: str) -> list[JsonObject]:
    return [item for item in await house.items(chat) if item["type"] == "tool-result"]


async def test_an_ask_is_listed_and_the_session_waits(house: House) -> None:
    """No client is connected; whoever comes later finds it."""
    chat = await house.chat([TOOL])
    await house.send(chat, "go")

    ask_id = await house.until_asked(chat)

    (ask,) = await house.engine.asks.open()
    assert (ask.id, ask.kind, ask.session_id) == (ask_id, "permission", chat)
    await _answer(house, ask_id)
    await house.idle(chat)
    assert [result["output"] for result in await _results(house, chat)] == ["written"]
    assert await house.engine.asks.open() == []


async def test_a_rejected_tool_is_not_used(house: House) -> None:
    """The agent is told, and goes on."""
    chat = await house.chat([TOOL, say("then not")])
    await house.send(chat, "go")

    await _answer(house, await house.until_asked(chat), "reject_once")
    await house.idle(chat)

    assert "written" not in str(await house.items(chat))
    assert (await house.texts(chat))[-1] == "assistant: then not"


async def test_the_first_answer_wins(house: House) -> None:
    """A second one is refused and told the first, also at the same moment."""
    chat = await house.chat([TOOL])
    await house.send(chat, "go")
    ask_id = await house.until_asked(chat)

    outcomes = await asyncio.gather(
        *(_answer(house, ask_id, kind) for kind in ("allow_once", "reject_once")),
        return_exceptions=True,
    )
    await house.idle(chat)

    (answered,) = await house.found(chat, PermissionAnswered)
    first = ["allow", "reject"].index(answered.outcome)
    assert outcomes[first] is None
    assert isinstance(outcomes[1 - first], AskAnswered)


async def test_an_answer_to_nothing_is_refused(house: House) -> None:
    """An unknown ask, or an option that it does not have."""
    chat = await house.chat([TOOL])
    await house.send(chat, "go")
    ask_id = await house.until_asked(chat)

    with pytest.raises(UnknownAsk):
        await house.engine.asks.answer_permission("per_nothing", option_id="x")
    with pytest.raises(InvalidRequest, match="has no option 'maybe'"):
        await house.engine.asks.answer_permission(ask_id, option_id="maybe")

    await _answer(house, ask_id)
    await house.idle(chat)


async def test_a_call_that_changes_is_asked_again(house: House) -> None:
    """An answer to what was shown before is refused; the new one holds."""
    chat = await house.chat([TOOL])
    await house.send(chat, "go")
    ask_id = await house.until_asked(chat)
    old = (await house.engine.asks.get(ask_id)).permission
    live = house.engine.executions.live(chat)
    (call,) = [item for item in await house.items(chat) if item["type"] == "tool-call"]
    assert live is not None
    assert old is not None

    source = str(call["source"]["id"])  # type: ignore[index]
    changed = {"type": "tool-call", "arguments": '{"path": "/etc/passwd"}'}
    await live.sink.report(ItemUpserted(source=source, item=changed, turn_id=str(call["turn_id"])))

    with pytest.raises(AskChanged):
        await _answer(house, ask_id, digest=old.digest)
    new = (await house.engine.asks.get(ask_id)).permission
    assert new is not None
    assert new.digest != old.digest
    await _answer(house, ask_id, digest=new.digest)
    await house.idle(chat)


async def test_always_is_a_grant_of_ours(house: House) -> None:
    """The same call is allowed at once from then on, in this folder; the agent hears "once"."""
    chat = await house.chat([TOOL], [TOOL])
    await house.send(chat, "go")
    await _answer(house, await house.until_asked(chat), "allow_always")
    await house.idle(chat)

    await house.turn(chat)

    answers = await house.found(chat, PermissionAnswered)
    assert [answer.by for answer in answers] == ["person", "grant"]
    (grant,) = await house.engine.asks.grants()
    assert answers[0].grant_id == answers[1].grant_id == grant["id"]


async def test_a_revoked_grant_holds_no_more(house: House) -> None:
    """The next call is asked for again."""
    chat = await house.chat([TOOL], [TOOL])
    await house.send(chat, "go")
    await _answer(house, await house.until_asked(chat), "allow_always")
    await house.idle(chat)
    (grant,) = await house.engine.asks.grants()

    await house.engine.asks.revoke(str(grant["id"]))
    await house.send(chat, "again")

    await _answer(house, await house.until_asked(chat))
    await house.idle(chat)
    assert await house.engine.asks.grants() == []


@pytest.mark.parametrize(
    ("session_rules", "profile_rules", "outcome", "by"),
    [
        ((), ({"tool_kind": "edit", "decision": "allow"},), "allow", "rule"),
        ((), ({"tool_kind": "*", "decision": "deny"},), "reject", "rule"),
        (
            ({"tool_kind": "edit", "decision": "deny"},),
            ({"tool_kind": "edit", "decision": "allow"},),
            "reject",
            "rule",
        ),
    ],
)
async def test_rules_decide_at_once(
    house: House,
    session_rules: tuple[JsonObject, ...],
    profile_rules: tuple[JsonObject, ...],
    outcome: str,
    by: str,
) -> None:
    """The session's come before the profile's, and nobody is asked."""
    chat = await house.chat(
        [TOOL], permissions=profile_rules, request={"permissions": session_rules}
    )

    await house.turn(chat)

    (answered,) = await house.found(chat, PermissionAnswered)
    assert (answered.outcome, answered.by) == (outcome, by)


async def test_a_headless_session_never_waits(house: House) -> None:
    """What no rule settles is refused, and said so."""
    chat = await house.chat([TOOL, say("done")], request={"headless": True})

    await house.turn(chat)

    (answered,) = await house.found(chat, PermissionAnswered)
    assert (answered.outcome, answered.by) == ("reject", "headless")
    assert (await house.texts(chat))[-1] == "assistant: done"


async def test_a_rule_that_cannot_be_read_is_refused(house: House) -> None:
    """Before anything is recorded."""
    with pytest.raises(InvalidRule):
        await house.chat([TOOL], request={"permissions": ({"tool_kind": "edit"},)})


async def test_a_question_is_answered(house: House) -> None:
    """The agent gets the answer and goes on."""
    chat = await house.chat([QUESTION])
    await house.send(chat, "go")
    ask_id = await house.until_asked(chat)

    with pytest.raises(InvalidRequest):
        await house.engine.asks.answer_question(ask_id, [])
    await house.engine.asks.answer_question(ask_id, [["the left one"]])
    await house.idle(chat)

    assert "the left one" in (await house.texts(chat))[-1]


async def test_a_question_that_a_turn_leaves_open_is_answered_by_a_prompt(house: House) -> None:
    """The answer becomes a turn of its own, which is not a person's prompt."""
    chat = await house.chat([LEFT_OPEN], [{"do": "echo"}])
    await house.turn(chat)
    ask_id = await house.until_asked(chat)

    ask = await house.engine.asks.answer_question(ask_id, [["left"]])
    await house.idle(chat)

    assert ask.answer is not None
    admitted = (await house.found(chat, PromptAdmitted))[-1]
    assert (admitted.prompt_id, admitted.origin) == (ask.answer.prompt_id, "question-answer")
    assert (await house.texts(chat))[-1] == "assistant: Which?\nleft"


async def test_a_question_outlives_the_connection_that_asked_it(house: House) -> None:
    """It was left open by a completed turn; nobody waits, so nothing is lost by closing."""
    chat = await house.chat([LEFT_OPEN], [{"do": "echo"}])
    await house.turn(chat)
    ask_id = await house.until_asked(chat)

    await house.pass_time(10 * 60_000)
    async with asyncio.timeout(PATIENCE):
        while "execution-ended" not in await house.kinds(chat):
            await next_turn()
    await house.engine.asks.answer_question(ask_id, [["left"]])
    await house.idle(chat)

    assert (await house.texts(chat))[-1] == "assistant: Which?\nleft"


async def test_a_permission_closes_with_its_turn(house: House) -> None:
    """An agent that ends its turn without the answer does not want it any more."""
    asking = {"do": "ask_permission", "wait": False}
    chat = await house.chat([asking])
    await house.turn(chat)

    (asked,) = await house.found(chat, PermissionAsked)
    with pytest.raises(AskExpired):
        await _answer(house, asked.ask_id)


async def test_an_ask_stays_answerable_if_the_agent_outlives_the_daemon(houses: Houses) -> None:
    """Its id is the same before and after; the answer reaches the agent."""
    house = await houses.open()
    chat = await house.chat([TOOL, say("done")], options={"survives": True})
    await house.send(chat, "go")
    ask_id = await house.until_asked(chat)

    house = await houses.crash(house)
    await _answer(house, ask_id)
    await house.idle(chat)

    assert (await house.texts(chat))[-1] == "assistant: done"
    assert [result["output"] for result in await _results(house, chat)] == ["written"]


async def test_an_ask_expires_if_the_agent_is_gone_with_the_daemon(houses: Houses) -> None:
    """Whoever answers it is told so."""
    house = await houses.open()
    chat = await house.chat([TOOL])
    await house.send(chat, "go")
    ask_id = await house.until_asked(chat)

    house = await houses.crash(house)

    with pytest.raises(AskExpired):
        await _answer(house, ask_id)
    assert await house.engine.asks.open() == []


async def test_a_permission_outside_of_any_turn_stays_open(house: House) -> None:
    """A task in the background may wait as well; its answer reaches it."""
    chat = await house.chat([say("Ok")])
    await house.turn(chat)
    live = house.engine.executions.live(chat)
    assert live is not None
    options = ({"option_id": "y", "name": "Yes", "kind": "allow_once"},)

    await live.sink.report(
        PermissionWanted(ask_id="x", tool_kind="edit", tool_call={"name": "t"}, options=options)
    )

    (ask,) = await house.engine.asks.open(chat)
    await house.engine.asks.answer_permission(ask.id, option_id="y")


async def test_a_tool_really_runs_in_the_folder(house: House) -> None:
    """What it prints is its result."""
    (Path(house.workplace) / "note.txt").write_text("here")
    chat = await house.chat([{"do": "tool", "name": "cat", "command": ["/bin/cat", "note.txt"]}])

    await house.turn(chat)

    (result,) = await _results(house, chat)
    assert (result["output"], result.get("is_error", False)) == ("here", False)


async def test_a_racing_pair_of_answer_and_end_is_decided_once(house: House) -> None:
    """The answer wins or the ask has expired, and both are told the truth."""
    chat = await house.chat([TOOL])
    for _ in range(20):
        await house.send(chat, "go")
        ask_id = await house.until_asked(chat)
        results = await asyncio.gather(
            _answer(house, ask_id), house.engine.control.interrupt(chat), return_exceptions=True
        )
        await house.idle(chat)
        ask = await house.engine.asks.get(ask_id)
        refused = isinstance(results[0], SpacedError)
        assert ask.status == ("expired" if refused else "answered")
