"""Each kind of step does what its line in docs/scripted.md says."""

import sys
from typing import Any, get_args

import pytest

from spaced.runtime.protocol import PermissionAnswer, QuestionAnswer, Turn
from spaced.runtime.updates import (
    AgentRetrying,
    ContinuityChanged,
    ConversationLost,
    ExecutionFinished,
    PermissionWanted,
    PromptNotTaken,
    QuestionWanted,
    SessionInfoChanged,
    TextAppended,
    TurnFinished,
    UnknownReport,
    UsageChanged,
)
from spaced.testing.runtime_harness import prompt_with
from spaced_scripted.steps import Step
from tests.contract.scripted_harness import ScriptedHarness, profile_with
from tests.unit.scripted.playing import finished, items_of, play, start

SAY = {"do": "say", "text": "and on"}


async def test_say(agents: ScriptedHarness) -> None:
    """A message that streams, and is complete in the end."""
    agent = await play(agents, {"do": "say", "text": "abcdef", "pieces": 3, "source": "m1"})
    assert [update.text for update in agent.sink.of(TextAppended)] == ["ab", "cd", "ef"]
    assert agent.sink.items()["m1"] == {
        "type": "message",
        "role": "assistant",
        "stream_status": "complete",
        "content": "abcdef",
    }


async def test_say_with_half_a_pair(agents: ScriptedHarness) -> None:
    """What cannot be stored as UTF-8 is reported all the same."""
    agent = await play(agents, {"do": "say", "text": "\U0001f600", "pieces": 2, "cut_pairs": True})
    assert [update.text for update in agent.sink.of(TextAppended)] == ["\ud83d", "\ude00"]


async def test_think(agents: ScriptedHarness) -> None:
    """Reasoning is an item of its own."""
    agent = await play(agents, {"do": "think", "text": "Hm."})
    assert items_of(agent, "reasoning")[0]["content"] == "Hm."


async def test_plan(agents: ScriptedHarness) -> None:
    """Told again under the same source, it is the same plan."""
    entries = [{"content": "Look", "priority": "high", "status": "pending"}]
    done = [{**entries[0], "status": "completed"}]
    agent = await play(
        agents,
        {"do": "plan", "entries": entries, "source": "plan"},
        {"do": "plan", "entries": done, "source": "plan"},
    )
    assert [item["entries"] for item in items_of(agent, "plan")] == [done]


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("prompts", "one\n\ntwo"),
        ("instructions", "be kind"),
        ("history", "before"),
        ("everything", "before\n\nbe kind\n\none\n\ntwo"),
    ],
)
async def test_echo(what: str, told: str, agents: ScriptedHarness) -> None:
    """What the daemon handed over can be seen."""
    agent = await agents.open_with(profile_with([[{"do": "echo", "what": what}]]))
    prompts = (prompt_with("one", prompt_id="1"), prompt_with("two", prompt_id="2"))
    turn = Turn(id="turn-1", prompts=prompts, instructions="be kind", history="before")
    await agent.connection.start_turn(turn)
    await finished(agent)
    assert agent.sink.text() == told


async def test_recall(agents: ScriptedHarness) -> None:
    """The first lines of all prompts."""
    agent = await play(agents, {"do": "recall"}, prompt="first\nsecond")
    assert "1. first" in agent.sink.text()


@pytest.mark.parametrize(
    ("field", "item_type"), [("content", "message"), ("output", "tool-result")]
)
async def test_flood(field: str, item_type: str, agents: ScriptedHarness) -> None:
    """So much text, in pieces that are never larger than asked for."""
    flood = {"do": "flood", "bytes": 100_000, "piece_bytes": 10_000, "field": field}
    agent = await play(agents, flood)
    assert len(agent.sink.text(item_type, field)) == 100_000
    assert {len(update.text) for update in agent.sink.of(TextAppended)} == {10_000}


async def test_raw(agents: ScriptedHarness) -> None:
    """Whatever a provider may come up with."""
    item = {"type": "event", "event": "compaction", "details": {"deep": [1, {"er": None}]}}
    agent = await play(agents, {"do": "raw", "item": item, "source": "x", "round": 2})
    assert agent.sink.items()["x"] == item


async def test_tool_with_a_given_output(agents: ScriptedHarness) -> None:
    """The call, its result, and that it went wrong."""
    step = {"do": "tool", "name": "look", "arguments": {"a": 1}, "output": "no", "is_error": True}
    agent = await play(agents, step)
    (call,), (result,) = items_of(agent, "tool-call"), items_of(agent, "tool-result")
    assert (call["status"], call["arguments"]) == ("failed", '{"a": 1}')
    assert (result["output"], result["is_error"]) == ("no", True)


async def test_tool_with_a_command(agents: ScriptedHarness) -> None:
    """It really runs in the session's folder; its exit code tells whether it failed."""
    program = "import os, sys; print(os.getcwd()); print('oh', file=sys.stderr); sys.exit(3)"
    agent = await play(
        agents, {"do": "tool", "name": "run", "command": [sys.executable, "-c", program]}, SAY
    )
    (result,) = items_of(agent, "tool-result")
    output = str(result["output"])
    assert output.splitlines()[0].endswith("session/ses-1")
    assert "oh" in output
    assert output.endswith("[ended with exit code 3]")
    assert result["is_error"] is True
    assert items_of(agent, "tool-call")[0]["status"] == "failed"
    assert agent.sink.text() == "and on"


@pytest.mark.parametrize("step", ["tool", "ask_permission"])
@pytest.mark.parametrize(
    ("on_reject", "said", "reason"), [("continue", "and on", "end_turn"), ("end", "", "rejected")]
)
async def test_a_rejected_permission(
    step: str, on_reject: str, said: str, reason: str, agents: ScriptedHarness
) -> None:
    """The call has failed, and the script goes on or ends."""
    asking = {"do": step, "name": "edit", "kind": "edit", "on_reject": on_reject}
    if step == "tool":
        asking["permission"] = True  # type: ignore[assignment]
    agent = await start(agents, asking, SAY)
    ask = await agent.sink.until_one(PermissionWanted)
    await agent.connection.answer(
        ask.ask_id, PermissionAnswer(option_id="reject", is_allowed=False)
    )
    assert (await finished(agent)).stop_reason == reason
    assert items_of(agent, "tool-call")[0]["status"] == "failed"
    assert agent.sink.text() == said


async def test_ask_permission_again_with_a_change(agents: ScriptedHarness) -> None:
    """The same ask, reported again with another call."""
    asking: dict[str, Any] = {"do": "ask_permission", "ask_id": "a", "subject": "x", "source": "s"}
    agent = await start(
        agents, {**asking, "wait": False}, {**asking, "subject": "y", "pattern": "y*"}
    )
    again = await agent.sink.ask(number=2)
    assert isinstance(again, PermissionWanted)
    assert (again.ask_id, again.subject, again.pattern, again.source) == ("a", "y", "y*", "s")
    answer = PermissionAnswer(option_id="allow", is_allowed=True)
    assert await agent.connection.answer("a", answer) is True
    assert (await finished(agent)).outcome == "completed"


async def test_question(agents: ScriptedHarness) -> None:
    """The answer is repeated if the script says so."""
    agent = await start(agents, {"do": "question", "questions": [{"text": "?"}], "echo": True})
    ask = await agent.sink.until_one(QuestionWanted)
    await agent.connection.answer(ask.ask_id, QuestionAnswer(answers=(("red", "blue"),)))
    await finished(agent)
    assert agent.sink.text() == "You answered: red, blue"


async def test_a_question_that_is_left_open(agents: ScriptedHarness) -> None:
    """The turn completes, nothing is withdrawn, and nobody waits for the answer here."""
    agent = await play(agents, {"do": "question", "questions": [{"text": "?"}], "wait": False})
    (ask,) = agent.sink.asks()
    assert not agent.sink.withdrawn()
    answer = QuestionAnswer(answers=(("yes",),))
    assert await agent.connection.answer(ask.ask_id, answer) is False


async def test_withdraw(agents: ScriptedHarness) -> None:
    """The ask is not open any more."""
    agent = await play(
        agents,
        {"do": "question", "questions": [{"text": "?"}], "wait": False, "ask_id": "q"},
        {"do": "withdraw", "ask_id": "q"},
        {"do": "withdraw", "ask_id": "unknown"},
    )
    assert agent.sink.withdrawn() == {"q"}


async def test_signals(agents: ScriptedHarness) -> None:
    """Each of them is one update, under the turn's id."""
    agent = await play(
        agents,
        {"do": "usage", "usage": {"input_tokens": 3}},
        {"do": "info", "info": {"title": "A title"}},
        {"do": "retrying", "attempt": 2, "message": "busy", "next_in_ms": 50},
        {"do": "unknown", "kind": "shrug", "payload": {"a": 1}},
        {"do": "continuity"},
    )
    sink = agent.sink
    assert sink.of(UsageChanged) == [UsageChanged(usage={"input_tokens": 3}, turn_id="turn-1")]
    assert sink.of(SessionInfoChanged)[0].info == {"title": "A title"}
    assert sink.of(AgentRetrying) == [
        AgentRetrying(attempt=2, message="busy", next_in_ms=50, turn_id="turn-1")
    ]
    assert sink.of(UnknownReport) == [
        UnknownReport(kind="shrug", payload={"a": 1}, turn_id="turn-1")
    ]
    assert [told.continuity["turns"] for told in sink.of(ContinuityChanged)] == [0, 0, 1]


async def test_lose_conversation(agents: ScriptedHarness) -> None:
    """Another one goes on."""
    agent = await play(agents, {"do": "lose_conversation", "message": "gone"}, SAY)
    assert agent.sink.of(ConversationLost)[0].message == "gone"
    assert len({told.continuity["id"] for told in agent.sink.of(ContinuityChanged)}) == 2


async def test_wait(agents: ScriptedHarness) -> None:
    """On the daemon's clock, and no other."""
    agent = await start(agents, {"do": "say", "text": "now"}, {"do": "wait", "ms": 1000}, SAY)
    await agent.sink.until(lambda _: agent.sink.text() == "now")
    assert not agent.sink.ends_of("turn-1")
    await agents.settle()
    await finished(agent)
    assert agent.sink.text() == "nowand on"


async def test_not_taken(agents: ScriptedHarness) -> None:
    """As often as the script says, then the same turn is played, as the first one."""
    script = [[{"do": "not_taken", "times": 2, "after_ms": 5}, SAY], [{"do": "fail"}]]
    agent = await agents.open_with(profile_with(script))
    for number in (1, 2):
        await agent.prompt()
        refused = await agent.sink.until_one(PromptNotTaken, number=number)
        assert (refused.turn_id, refused.after_ms) == ("turn-1", 5)
    await agent.prompt()
    assert (await agent.sink.until_one(TurnFinished)).outcome == "completed"
    assert agent.sink.text() == "and on"


async def test_fail(agents: ScriptedHarness) -> None:
    """With a problem of the script's own."""
    agent = await play(agents, {"do": "fail", "message": "no credit", "code": "payment"}, SAY)
    ending = await finished(agent)
    assert ending.problem is not None
    assert (ending.outcome, ending.problem.code) == ("failed", "payment")
    assert agent.sink.text() == ""


async def test_end(agents: ScriptedHarness) -> None:
    """Whatever follows is not played."""
    agent = await play(agents, {"do": "end", "stop_reason": "max_tokens"}, SAY)
    assert (await finished(agent)).stop_reason == "max_tokens"
    assert agent.sink.text() == ""


async def test_crash(agents: ScriptedHarness) -> None:
    """The execution ends, the turn has no end of its own."""
    agent = await play(agents, {"do": "crash", "message": "bang"}, SAY)
    crash = await agent.sink.until_one(ExecutionFinished)
    assert crash.problem is not None
    assert (crash.reason, crash.problem.message) == ("crashed", "bang")


def test_every_kind_of_step_has_its_test() -> None:
    """Here, or in `test_turns`."""
    elsewhere = {"gate", "steered", "hang", "refuse_to_stop", "background", "late"}
    here = {"say", "think", "plan", "echo", "recall", "flood", "raw", "tool", "ask_permission"}
    here |= {"question", "withdraw", "usage", "info", "retrying", "unknown", "continuity"}
    here |= {"lose_conversation", "wait", "not_taken", "fail", "end", "crash"}
    assert {kind.__struct_config__.tag for kind in get_args(Step)} == here | elsewhere
