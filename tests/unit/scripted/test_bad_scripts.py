"""A script with a mistake fails its turn with one sentence, and harms nothing else."""

import json

import pytest

from spaced_scripted.runtime import ScriptedRuntime
from tests.contract.scripted_harness import ScriptedHarness, profile_with
from tests.unit.scripted.playing import finished, write_file

SAY = {"do": "say", "text": "fine"}

BAD_TURNS = {
    "an unknown step": ([SAY, {"do": "sing"}], "step 2 (sing)"),
    "an unknown key": ([{"do": "say", "text": "x", "loudly": True}], "`loudly`"),
    "a missing key": ([{"do": "say"}], "`text`"),
    "a wrong type": ([SAY, SAY, {"do": "wait", "ms": "soon"}], "step 3 (wait)"),
    "a negative time": ([{"do": "wait", "ms": -1}], "`$.ms`"),
    "no step": ([SAY, 7], "step 2 of the script"),
    "no kind": ([{"text": "x"}], "`do`"),
    "a mistake further in": (
        [{"do": "background", "steps": [SAY, {"do": "say", "text": 1}]}],
        "`$.steps[1].text`",
    ),
    "no list": ("say something", "list of steps"),
}


@pytest.mark.parametrize(("turn", "told"), BAD_TURNS.values(), ids=BAD_TURNS)
async def test_the_turn_fails_and_says_where(
    turn: object, told: str, agents: ScriptedHarness
) -> None:
    """The sentence names the step and the key, and nothing of the turn is played."""
    agent = await agents.open_with(profile_with([turn]))
    await agent.prompt()
    ending = await finished(agent)
    assert ending.outcome == "failed"
    assert ending.problem is not None
    assert ending.problem.code == "bad-script"
    assert told in ending.problem.message
    assert "\n" not in ending.problem.message
    assert not agent.sink.items()


@pytest.mark.parametrize("script", [[], {}, "say", 7, [[{"do": "sing"}]], {"a": 1}])
async def test_a_probe_finds_the_mistake(script: object, agents: ScriptedHarness) -> None:
    """Before any session meets it."""
    report = await agents.new_runtime().probe(profile_with(script), {})
    if script == {}:
        assert report.problem is None
    else:
        assert report.problem is not None
        assert report.problem.code == "bad-script"


async def test_a_session_goes_on_after_a_bad_turn(agents: ScriptedHarness) -> None:
    """The next turn is another one."""
    agent = await agents.open_with(profile_with([[{"do": "sing"}], [SAY]]))
    await agent.prompt(turn_id="turn-1")
    await agent.sink.end_of("turn-1")
    await agent.prompt(turn_id="turn-2")
    assert (await finished(agent, "turn-2")).outcome == "completed"


@pytest.mark.parametrize(
    "content",
    [None, "{", "[]", "x" * 1_100_000, "[" * 100_000],
    ids=["missing", "half", "empty", "large", "deep"],
)
async def test_a_file_that_is_no_script_fails_the_turn(
    content: str | None, agents: ScriptedHarness
) -> None:
    """Missing, half written, empty, too large, or too deep."""
    agent = await agents.open_with(profile_with(None, script_file="script.json"))
    if content is not None:
        write_file(agent, "script.json", content)
    await agent.prompt()
    ending = await finished(agent)
    assert ending.problem is not None
    assert ending.problem.code == "bad-script"
    assert len(ending.problem.message) < 400


async def test_a_script_comes_from_a_file(agents: ScriptedHarness) -> None:
    """A relative name is looked for in the session's folder."""
    agent = await agents.open_with(profile_with(None, script_file="script.json"))
    write_file(agent, "script.json", json.dumps([[SAY]]))
    await agent.prompt()
    await finished(agent)
    assert agent.sink.text() == "fine"


async def test_a_script_comes_from_a_fenced_block(agents: ScriptedHarness) -> None:
    """Which beats the file, and is beaten by the profile's own script."""
    prompt = f"Play this:\n\n```script\n{json.dumps([SAY])}\n```\n"
    told = []
    for script in (None, [[{"do": "say", "text": "mine"}]]):
        profile = profile_with(script, script_file="there-is-none.json")
        agent = await agents.open_with(profile)
        await agent.prompt(prompt)
        await finished(agent)
        told.append(agent.sink.text())
    assert told == ["fine", "mine"]


async def test_a_broken_block_fails_the_turn(agents: ScriptedHarness) -> None:
    """It was meant as a script, so it is not repeated as a text."""
    agent = await agents.open_with(profile_with(None))
    await agent.prompt("```script\n[{\n```")
    problem = (await finished(agent)).problem
    assert problem is not None
    assert "the script in the prompt is no JSON" in problem.message


async def test_the_prompt_chooses_the_turn(agents: ScriptedHarness) -> None:
    """By its first line; `*` is every other one."""
    script = {"go": [SAY], "*": [{"do": "say", "text": "other"}]}
    agent = await agents.open_with(profile_with(script))
    for number, prompt in enumerate(("go\nnow", "stop"), start=1):
        await agent.prompt(prompt, turn_id=f"turn-{number}")
        await finished(agent, f"turn-{number}")
    assert agent.sink.text() == "fineother"


def test_the_runtime_of_these_tests_is_the_shipped_one(agents: ScriptedHarness) -> None:
    """Nothing stands between."""
    assert isinstance(agents.new_runtime(), ScriptedRuntime)
