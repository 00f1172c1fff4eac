"""Conversations that go on in another life, and turns that outlive the daemon."""

import json
from pathlib import Path

from spaced.domain.json_values import JsonObject
from spaced.runtime.protocol import PermissionAnswer, QuestionAnswer
from spaced.runtime.updates import (
    ConversationLost,
    ItemUpserted,
    PermissionWanted,
    TurnFinished,
)
from spaced.testing.recording_sink import RecordingSink
from spaced.testing.runtime_harness import OpenAgent
from spaced_scripted.runtime import ScriptedRuntime
from tests.contract.scripted_harness import ScriptedHarness, profile_with
from tests.unit.scripted.playing import Step, finished, items_of


def says(text: str) -> list[Step]:
    """Return a turn that says a text."""
    return [{"do": "say", "text": text}]


def continuity_of(agent: OpenAgent) -> JsonObject:
    """Return what continues the agent's conversation."""
    told = agent.sink.continuity()
    assert told is not None
    return told.continuity


async def start_surviving(agents: ScriptedHarness, *steps: Step) -> OpenAgent:
    """Start a turn that goes on although the daemon dies."""
    agent = await agents.open_with(profile_with([list(steps)], survives=True))
    await agent.prompt()
    return agent


async def reattached(agents: ScriptedHarness, agent: OpenAgent) -> OpenAgent:
    """Let the daemon go away and find the agent again."""
    await agent.runtime.close()
    runtime, sink = agents.new_runtime(), RecordingSink()
    connection = await runtime.reattach(agent.session, continuity_of(agent), sink)
    assert connection is not None
    return OpenAgent(runtime=runtime, session=agent.session, connection=connection, sink=sink)


async def test_the_nth_turn_is_right_after_a_restart(agents: ScriptedHarness) -> None:
    """A conversation counts on, whatever happens to the daemon."""
    profile = profile_with([says("one"), says("two"), says("three")])
    agent = await agents.open_with(profile)
    await agent.prompt()
    await finished(agent)
    await agent.runtime.close()
    later = await agents.open_with(profile, continuity=continuity_of(agent))
    await later.prompt(turn_id="turn-2")
    await finished(later, "turn-2")
    assert later.sink.text() == "two"


async def test_what_was_said_is_known_after_a_restart(agents: ScriptedHarness) -> None:
    """Even what no UTF-8 can say."""
    profile = profile_with([[{"do": "recall"}]])
    agent = await agents.open_with(profile)
    await agent.prompt("half a pair: \ud83d")
    await finished(agent)
    await agent.runtime.close()
    later = await agents.open_with(profile, continuity=continuity_of(agent))
    await later.prompt("and?", turn_id="turn-2")
    await finished(later, "turn-2")
    assert "1. half a pair: \ud83d\n2. and?" in later.sink.text()


async def test_a_turn_that_was_cut_off_counts(agents: ScriptedHarness) -> None:
    """The agent was handed its prompts, so the next turn is the next one."""
    profile = profile_with([[{"do": "hang"}], says("two")])
    agent = await agents.open_with(profile)
    await agent.prompt()
    await agent.sink.until(bool)
    await agent.runtime.close()
    later = await agents.open_with(profile, continuity=continuity_of(agent))
    await later.prompt(turn_id="turn-2")
    await finished(later, "turn-2")
    assert later.sink.text() == "two"


async def test_a_conversation_whose_file_is_gone_is_lost(
    agents: ScriptedHarness, tmp_path: Path
) -> None:
    """Said once, while it is opened; a file that makes no sense is as good as gone."""
    agent = await agents.open_with(profile_with([says("one")]))
    await agent.prompt()
    await finished(agent)
    continuity = continuity_of(agent)
    file = tmp_path / "state" / "conversations" / f"{continuity['id']}.json"
    for damage in (lambda: file.write_text("{"), lambda: file.write_text("[]"), file.unlink):
        damage()
        later = await agents.open_with(profile_with([says("one")]), continuity=continuity)
        assert [type(update) for update in later.sink.updates] == [ConversationLost]
    for strange in ({"id": "../../etc/passwd"}, {"id": 7}, {}):
        later = await agents.open_with(profile_with([says("one")]), continuity=strange)
        assert [type(update) for update in later.sink.updates] == [ConversationLost]


async def test_an_agent_that_does_not_survive_is_not_found(agents: ScriptedHarness) -> None:
    """Which is how it is unless the profile says otherwise."""
    agent = await agents.open_with(profile_with([[{"do": "hang"}]]))
    await agent.prompt()
    await agent.sink.until(bool)
    await agent.runtime.close()
    runtime = agents.new_runtime()
    assert await runtime.reattach(agent.session, continuity_of(agent), RecordingSink()) is None


async def test_a_closed_agent_is_not_found(agents: ScriptedHarness) -> None:
    """Closing an execution ends it, wherever its agent lives."""
    agent = await start_surviving(agents, {"do": "hang"})
    await agent.sink.until(bool)
    await agent.connection.close(0)
    runtime = agents.new_runtime()
    assert await runtime.reattach(agent.session, continuity_of(agent), RecordingSink()) is None


async def test_another_sessions_agent_is_not_found(agents: ScriptedHarness) -> None:
    """A continuity is no key to somebody else's agent."""
    agent = await start_surviving(agents, {"do": "hang"})
    await agent.sink.until(bool)
    await agent.runtime.close()
    other = agents.session_for(agent.session.profile, session_id="ses-2")
    runtime = agents.new_runtime()
    assert await runtime.reattach(other, continuity_of(agent), RecordingSink()) is None


async def test_an_agent_that_does_not_have_the_turn_is_not_found(agents: ScriptedHarness) -> None:
    """Whoever waits for that turn would wait for ever; the agent's own turn is found."""
    agent = await start_surviving(agents, {"do": "hang"})
    await agent.sink.until(bool)
    await agent.runtime.close()
    known, sink = continuity_of(agent), RecordingSink()
    runtime = agents.new_runtime()
    assert await runtime.reattach(agent.session, known, sink, "turn-2") is None
    assert await runtime.reattach(agent.session, known, sink, "turn-1") is not None


async def test_a_surviving_turn_goes_on(agents: ScriptedHarness) -> None:
    """What was said is told whole, then the rest is played; its sources are the same."""
    agent = await start_surviving(
        agents, *says("before"), {"do": "gate", "name": "g"}, *says("after")
    )
    assert isinstance(agent.runtime, ScriptedRuntime)
    await agent.runtime.gates.reached("g")
    later = await reattached(agents, agent)
    assert isinstance(later.runtime, ScriptedRuntime)
    await later.runtime.gates.reached("g")
    assert items_of(later, "message") == items_of(agent, "message")
    assert all(isinstance(update, ItemUpserted) for update in later.sink.updates)
    assert set(later.sink.items()) == set(agent.sink.items())
    later.runtime.gates.open("g")
    assert (await finished(later)).outcome == "completed"
    assert later.sink.text() == "beforeafter"


async def test_a_text_that_was_cut_off_is_told_whole(agents: ScriptedHarness) -> None:
    """Half of it was reported; nothing is doubled."""
    agent = await start_surviving(agents, {"do": "say", "text": "abcdef", "piece_length": 1})
    await agent.sink.until(lambda _: agent.sink.text().startswith("ab"))
    agent.sink.hold()
    later = await reattached(agents, agent)
    await finished(later)
    assert later.sink.text() == "abcdef"


async def test_an_open_ask_is_repeated(agents: ScriptedHarness) -> None:
    """Under its old name, and its answer is taken by the new connection."""
    ask: Step = {"do": "tool", "name": "edit", "kind": "edit", "permission": True}
    agent = await start_surviving(agents, ask, *says("done"))
    first = await agent.sink.until_one(PermissionWanted)
    later = await reattached(agents, agent)
    again = await later.sink.until_one(PermissionWanted)
    assert again == first
    answer = PermissionAnswer(option_id="allow", is_allowed=True)
    assert await later.connection.answer(again.ask_id, answer) is True
    await finished(later)
    assert later.sink.text() == "done"


async def test_an_answer_that_was_confirmed_is_kept(agents: ScriptedHarness) -> None:
    """The agent had it, so it does not ask again, and takes no second one."""
    ask: Step = {"do": "question", "questions": [{"text": "?"}], "echo": True, "ask_id": "q"}
    agent = await start_surviving(
        agents, {**ask, "wait": False, "echo": False}, {"do": "gate", "name": "g"}, ask
    )
    assert isinstance(agent.runtime, ScriptedRuntime)
    await agent.runtime.gates.reached("g")
    assert await agent.connection.answer("q", QuestionAnswer(answers=(("blue",),))) is True
    later = await reattached(agents, agent)
    assert isinstance(later.runtime, ScriptedRuntime)
    assert await later.connection.answer("q", QuestionAnswer(answers=(("red",),))) is False
    later.runtime.gates.open("g")
    await finished(later)
    assert later.sink.text() == "You answered: blue"
    assert not later.sink.asks()


async def test_a_turn_that_finished_meanwhile_is_finished(
    agents: ScriptedHarness, tmp_path: Path
) -> None:
    """The daemon died before it took the end: that is told, and told once."""
    agent = await start_surviving(agents, *says("done"))
    state = tmp_path / "state" / "conversations"
    await finished(agent)
    await agents.settle()
    await agent.runtime.close()
    (file,) = state.glob("*.json")
    kept = json.loads(file.read_text())
    assert kept["turn"] is None

    ending = {"turn_id": "turn-1", "outcome": "completed", "stop_reason": "end_turn"}
    record = {"id": "turn-1", "number": 1, "conversation": kept["id"], "prompts": []}
    item = {"type": "message", "role": "assistant", "content": "done"}
    record |= {"index": 1, "steps": says("done"), "items": {"s": item}, "finished": ending}
    file.write_text(json.dumps({**kept, "turn": record}))
    later = await reattached(agents, agent)
    assert (await finished(later)).stop_reason == "end_turn"
    assert later.sink.items()["s"]["content"] == "done"
    await agents.settle()
    again = await reattached(agents, later)
    await agents.settle()
    assert not again.sink.of(TurnFinished)


async def test_a_command_of_a_surviving_turn_is_lost(agents: ScriptedHarness) -> None:
    """Nobody knows what became of it, so it is not run again."""
    command = ["sh", "-c", "echo once >> ran; echo up; exec sleep 600"]
    agent = await start_surviving(
        agents, {"do": "tool", "name": "run", "command": command}, *says("on")
    )
    await agent.sink.until(lambda _: "up" in agent.sink.text("tool-result", "output"))
    later = await reattached(agents, agent)
    await finished(later)
    assert items_of(later, "tool-call")[0]["status"] == "failed"
    assert "not known" in later.sink.text("tool-result", "output")
    assert (agents.folder / "ses-1" / "ran").read_text() == "once\n"
    assert later.sink.text() == "on"


async def test_a_reattached_turn_is_interrupted_as_always(agents: ScriptedHarness) -> None:
    """It is a turn like any other."""
    agent = await start_surviving(agents, *says("x"), {"do": "hang"})
    await agent.sink.until(lambda _: agent.sink.text() == "x")
    later = await reattached(agents, agent)
    await later.sink.until(bool)
    await later.connection.interrupt("turn-1")
    assert (await finished(later)).outcome == "interrupted"
    await later.prompt(turn_id="turn-2")
    await later.connection.interrupt("turn-2")
    assert (await finished(later, "turn-2")).outcome == "interrupted"
