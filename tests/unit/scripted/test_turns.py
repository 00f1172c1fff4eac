"""Turns that are steered, interrupted or go on when they have ended."""

import asyncio
import json
from pathlib import Path

import pytest

from spaced.errors import RuntimeProblem
from spaced.runtime.protocol import PermissionAnswer
from spaced.runtime.updates import ContinuityChanged, TextAppended, TurnFinished
from spaced.testing.runtime_harness import OpenAgent, prompt_with
from spaced_scripted.runtime import ScriptedRuntime
from tests.contract.scripted_harness import ScriptedHarness, profile_with
from tests.unit.scripted.playing import finished, items_of, play, start


def gates_of(agent: OpenAgent) -> ScriptedRuntime:
    """Return the runtime with its gates."""
    assert isinstance(agent.runtime, ScriptedRuntime)
    return agent.runtime


async def test_a_gate_holds_the_script(agents: ScriptedHarness) -> None:
    """Until the test opens it; opened before, it lets through."""
    agent = await start(agents, {"do": "gate", "name": "a"}, {"do": "gate", "name": "b"})
    gates = gates_of(agent).gates
    gates.open("b")
    await gates.reached("a")
    assert not agent.sink.ends_of("turn-1")
    gates.open("a")
    await finished(agent)


async def test_a_steered_prompt_is_echoed(agents: ScriptedHarness) -> None:
    """By the step that waits for it, and by every echo after that."""
    agent = await start(agents, {"do": "steered"}, {"do": "echo"}, prompt="one")
    assert await agent.connection.steer("turn-1", (prompt_with("two", prompt_id="2"),)) is True
    await finished(agent)
    assert agent.sink.text() == "two" + "one\n\ntwo"
    assert await agent.connection.steer("turn-1", (prompt_with("three"),)) is False


async def test_the_default_agent_answers_a_steered_prompt(agents: ScriptedHarness) -> None:
    """In the same turn: what was taken is not forgotten."""
    agent = await agents.open_with(profile_with(None))
    agent.sink.hold()
    await agent.prompt("one")
    await agent.sink.until_begun(1)
    assert await agent.connection.steer("turn-1", (prompt_with("two", prompt_id="2"),)) is True
    agent.sink.release()
    await finished(agent)
    assert "You said:\n\ntwo" in agent.sink.text()


async def test_each_hand_over_is_written_down_first(
    agents: ScriptedHarness, tmp_path: Path
) -> None:
    """One line for each, with the ids of the prompts; a steer that is not taken has none."""
    agent = await start(agents, {"do": "steered"})
    assert await agent.connection.steer("turn-1", (prompt_with("two", prompt_id="m2"),))
    await finished(agent)
    assert not await agent.connection.steer("turn-1", (prompt_with("three", prompt_id="m3"),))
    lines = (tmp_path / "state" / "deliveries.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"session_id": "ses-1", "turn_id": "turn-1", "prompt_ids": ["turn-1-prompt"]},
        {"session_id": "ses-1", "turn_id": "turn-1", "prompt_ids": ["m2"], "steer": True},
    ]


async def test_a_hand_over_that_cannot_be_written_down_is_none(
    agents: ScriptedHarness, tmp_path: Path
) -> None:
    """The turn has not begun, and the agent is idle."""
    agent = await agents.open_with(profile_with([[{"do": "echo"}]]))
    state = tmp_path / "state"
    state.write_text("not a folder")
    with pytest.raises(RuntimeProblem, match="cannot write its memory"):
        await agent.prompt()
    state.unlink()
    await agent.prompt("again", turn_id="turn-2")
    await finished(agent, "turn-2")
    assert agent.sink.text() == "again"


async def test_an_interrupt_marks_what_was_open(agents: ScriptedHarness) -> None:
    """Texts, calls and asks are closed before the turn's end is told."""
    agent = await start(
        agents,
        {"do": "raw", "item": {"type": "tool-call", "status": "running"}, "source": "t"},
        {"do": "question", "questions": [{"text": "?"}], "ask_id": "q"},
    )
    await agent.sink.ask()
    await agent.connection.interrupt("turn-1")
    ending = await finished(agent)
    assert (ending.outcome, ending.stop_reason) == ("interrupted", "cancelled")
    assert agent.sink.items()["t"]["status"] == "interrupted"
    assert agent.sink.withdrawn() == {"q"}
    assert agent.sink.updates[-1] == ending


async def test_an_interrupted_text_is_marked(agents: ScriptedHarness) -> None:
    """Whoever reads it knows that more was to come."""
    agent = await agents.open_with(profile_with([[{"do": "say", "text": "x" * 200}]]))
    await agent.prompt()
    await agent.sink.until_one(TextAppended)
    agent.sink.hold()
    await agent.connection.interrupt("turn-1")
    agent.sink.release()
    assert (await finished(agent)).outcome == "interrupted"
    assert items_of(agent, "message")[0]["stream_status"] == "interrupted"


async def test_a_hanging_turn_is_interrupted(agents: ScriptedHarness) -> None:
    """It does nothing until then."""
    agent = await start(agents, {"do": "say", "text": "x"}, {"do": "hang"})
    await agent.sink.until(lambda _: agent.sink.text() == "x")
    await agents.settle()
    assert not agent.sink.ends_of("turn-1")
    await agent.connection.interrupt("turn-1")
    assert (await finished(agent)).outcome == "interrupted"


async def test_a_turn_that_refuses_goes_on(agents: ScriptedHarness) -> None:
    """Interrupts are ignored; the script ends it, or a close does."""
    agent = await start(
        agents, {"do": "refuse_to_stop"}, {"do": "gate", "name": "a"}, {"do": "echo"}, prompt="hm"
    )
    gates = gates_of(agent).gates
    await gates.reached("a")
    await agent.connection.interrupt("turn-1")
    gates.open("a")
    assert (await finished(agent)).outcome == "completed"
    assert agent.sink.text() == "hm"


async def test_a_second_turn_at_once_is_refused(agents: ScriptedHarness) -> None:
    """The agent is busy, and says with what."""
    agent = await start(agents, {"do": "hang"})
    with pytest.raises(RuntimeProblem, match="turn-1"):
        await agent.prompt(turn_id="turn-2")


async def test_the_background_speaks_for_no_turn(agents: ScriptedHarness) -> None:
    """When the turn has ended, or from the step on."""
    said = {"do": "say", "text": "by the way"}
    agent = await play(agents, {"do": "background", "steps": [said]}, {"do": "echo"})
    await agent.sink.until(lambda _: "by the way" in agent.sink.text())
    ended = agent.sink.updates.index(agent.sink.of(TurnFinished)[0])
    assert {update.turn_id for update in agent.sink.updates[ended + 1 :]} == {None}


async def test_the_background_may_begin_at_once(agents: ScriptedHarness) -> None:
    """Then it speaks while the turn is under way."""
    said = {"do": "say", "text": "x"}
    agent = await start(
        agents, {"do": "background", "steps": [said], "after": "now"}, {"do": "hang"}
    )
    await agent.sink.until(lambda _: agent.sink.text() == "x")
    assert not agent.sink.ends_of("turn-1")


async def test_a_late_report_names_the_ended_turn(agents: ScriptedHarness) -> None:
    """Also when the next one is under way."""
    late = {"do": "late", "steps": [{"do": "gate", "name": "g"}, {"do": "say", "text": "late"}]}
    agent = await agents.open_with(profile_with([[late], [{"do": "hang"}]]))
    await agent.prompt()
    await finished(agent)
    await agent.prompt(turn_id="turn-2")
    gates_of(agent).gates.open("g")
    await agent.sink.until(lambda _: agent.sink.text() == "late")
    assert {update.turn_id for update in agent.sink.of(TextAppended)} == {"turn-1"}


async def test_the_background_may_crash_an_idle_agent(agents: ScriptedHarness) -> None:
    """An execution can end without any turn."""
    steps = [{"do": "background", "steps": [{"do": "crash"}]}]
    agent = await play(agents, *steps)
    await agent.sink.until(lambda updates: type(updates[-1]).__name__ == "ExecutionFinished")


async def test_a_close_in_the_middle_leaves_no_task(agents: ScriptedHarness) -> None:
    """Neither that of a turn, nor those that go on after it."""
    late = [
        {"do": "late", "steps": [{"do": "hang"}]},
        {"do": "background", "steps": [{"do": "hang"}]},
    ]
    agent = await play(agents, *late)
    await agent.prompt(turn_id="turn-2")
    await agent.connection.close(0)
    others = [task for task in asyncio.all_tasks() if task.get_name().startswith("scripted-")]
    assert not others


async def test_the_continuity_is_told_at_the_first_start_and_at_each_end(
    agents: ScriptedHarness,
) -> None:
    """With the number of turns that have ended."""
    agent = await agents.open_with(profile_with([[{"do": "echo"}]]))
    for turn_id in ("turn-1", "turn-2"):
        await agent.prompt(turn_id=turn_id)
        await finished(agent, turn_id)
    told = [change.continuity for change in agent.sink.of(ContinuityChanged)]
    assert [continuity["turns"] for continuity in told] == [0, 1, 2]
    assert len({continuity["id"] for continuity in told}) == 1


async def test_an_answer_of_the_wrong_kind_is_not_taken(agents: ScriptedHarness) -> None:
    """A permission is no answer to a question."""
    agent = await start(agents, {"do": "question", "questions": [{"text": "?"}], "ask_id": "q"})
    await agent.sink.ask()
    wrong = PermissionAnswer(option_id="allow", is_allowed=True)
    assert await agent.connection.answer("q", wrong) is False
