"""The end of turns and of agents: whatever they ignore, nothing of them outlives it."""

from pathlib import Path
from typing import Any

import pytest

from tests.integration.acp.acp_house import AcpHouse
from tests.integration.acp.crude_agents import DEAF, DUMB

SAY = {"do": "say", "text": "I am at it.", "id": "m1"}
ECHO = [{"do": "echo"}]


def leaving(folder: Path, **fields: Any) -> dict[str, Any]:
    """Return a step that leaves a child behind which would finish its work much later."""
    return {"do": "spawn", "wait": str(folder / "go"), "write": str(folder / "done"), **fields}


def check_unfinished(acp: AcpHouse, folder: Path) -> None:
    """Let whatever was left finish its work, and check that nothing does."""
    (folder / "go").touch()
    acp.check_nothing_is_left()
    assert not (folder / "done").exists()


async def interrupted(acp: AcpHouse, script: dict[str, Any], **fields: Any) -> str:
    """Interrupt an agent that is at it, and return its chat."""
    chat = await acp.chat(script, **fields)
    await acp.house.send(chat, "go")
    await acp.until_said(chat, "I am at it.")
    await acp.house.engine.control.interrupt(chat)
    await acp.house.idle(chat)
    return chat


async def test_an_agent_that_listens_stays(acp: AcpHouse) -> None:
    """Its turn is interrupted, and the same process takes the next."""
    chat = await interrupted(acp, {"turns": [[SAY, {"do": "pause"}], ECHO]})
    end = await acp.last_end(chat)
    assert (end.outcome, end.stop_reason) == ("interrupted", "cancelled")
    assert (await acp.turn(chat, "again")).outcome == "completed"
    assert len(acp.received("initialize")) == 1
    assert await acp.said(chat) == ["I am at it.", "again"]
    await acp.check_prompts(chat)


@pytest.mark.parametrize("ignores", [["cancel"], ["cancel", "eof"], ["cancel", "eof", "sigterm"]])
async def test_an_agent_that_does_not_listen_is_killed(
    acp: AcpHouse, tmp_path: Path, ignores: list[str]
) -> None:
    """After the profile's grace, with everything that it has started."""
    turn = [leaving(tmp_path), SAY, {"do": "pause"}]
    chat = await interrupted(acp, {"ignores": ignores, "turns": [turn]})
    assert (await acp.last_end(chat)).outcome == "interrupted"
    check_unfinished(acp, tmp_path)
    await acp.retell(chat, {"turns": [ECHO]})
    assert (await acp.turn(chat, "again")).outcome == "completed"
    await acp.check_prompts(chat)


async def test_a_second_interrupt_does_not_wait(acp: AcpHouse) -> None:
    """Whoever asks twice means it."""
    script = {"ignores": ["cancel"], "turns": [[SAY, {"do": "pause"}]]}
    chat = await acp.chat(script)
    await acp.retell(chat, script, cancel_grace_ms=600_000)
    await acp.house.send(chat, "go")
    await acp.until_said(chat, "I am at it.")
    await acp.house.engine.control.interrupt(chat)
    await acp.house.engine.control.interrupt(chat)
    await acp.house.idle(chat)
    assert (await acp.last_end(chat)).outcome == "interrupted"


async def test_a_prompt_that_is_never_answered_can_be_given_up(acp: AcpHouse) -> None:
    """The work is done and its answer lost: only a person knows, and can go on."""
    chat = await interrupted(acp, {"ignores": ["cancel"], "turns": [[SAY, {"do": "hang"}]]})
    assert await acp.said(chat) == ["I am at it."]
    await acp.retell(chat, {"turns": [ECHO]})
    assert (await acp.turn(chat, "again")).outcome == "completed"


async def test_a_silent_agent_is_given_up_by_itself(acp: AcpHouse) -> None:
    """If nothing says why it is silent."""
    script = {"turns": [[SAY, {"do": "hang"}]]}
    chat = await acp.chat(script)
    await acp.retell(chat, script, options={"idle_seconds": 0.4})
    end = await acp.turn(chat)
    assert (end.outcome, (await acp.problem(chat)).code) == ("failed", "agent-silent")
    acp.check_nothing_is_left()


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (
            {"do": "exit", "code": 3, "complaint": "out of memory\n"},
            "exit code 3; its last words: out",
        ),
        ({"do": "exit", "code": 0, "line": '{"jsonrpc":"2.0","method":"sess'}, "exit code 0"),
        ({"do": "die"}, "signal 9"),
    ],
    ids=["exit", "in the middle of a line", "killed"],
)
async def test_an_agent_that_ends_fails_its_turn(
    acp: AcpHouse, tmp_path: Path, ending: dict[str, Any], words: str
) -> None:
    """With its last words, and without what it had started; the next prompt starts it anew."""
    chat = await acp.chat({"turns": [[leaving(tmp_path), SAY, ending]]})
    end = await acp.turn(chat)
    problem = await acp.problem(chat)
    assert (end.outcome, problem.code, words in problem.message) == (
        "failed",
        "agent-crashed",
        True,
    )
    check_unfinished(acp, tmp_path)
    await acp.retell(chat, {"turns": [ECHO]})
    assert (await acp.turn(chat, "again")).outcome == "completed"
    assert await acp.said(chat) == ["I am at it.", "again"]
    await acp.check_prompts(chat)


async def test_a_child_that_holds_the_pipes_holds_nothing_up(acp: AcpHouse, tmp_path: Path) -> None:
    """The agent has ended, and its output would never."""
    turn = [leaving(tmp_path, holds=True), SAY, {"do": "exit", "code": 5}]
    chat = await acp.chat({"turns": [turn]})
    await acp.turn(chat)
    assert "exit code 5" in (await acp.problem(chat)).message
    assert await acp.said(chat) == ["I am at it."]
    check_unfinished(acp, tmp_path)


async def test_a_running_tool_ends_with_its_turn(acp: AcpHouse, tmp_path: Path) -> None:
    """It leads a session of its own, as the tools of most agents do."""
    script = f"while [ ! -e {tmp_path}/go ]; do read -t 0.01 x < {tmp_path}/fifo; done; touch {tmp_path}/done"
    wait = ["/bin/bash", "-c", f"exec 3<>{tmp_path}/fifo; {script}"]
    turn = [
        {"do": "tool", "command": ["/usr/bin/mkfifo", f"{tmp_path}/fifo"]},
        SAY,
        {"do": "tool", "command": wait},
    ]
    chat = await acp.chat({"turns": [turn], "ignores": ["cancel"]})
    await acp.house.send(chat, "go")
    await acp.until_said(chat, "I am at it.")

    async def is_running() -> bool:
        return any(call["status"] == "running" for call in await acp.of(chat, "tool-call"))

    await acp.until(is_running)
    await acp.house.engine.control.interrupt(chat)
    await acp.house.idle(chat)
    check_unfinished(acp, tmp_path)
    assert (await acp.of(chat, "tool-call"))[-1]["status"] == "interrupted"


async def test_twenty_turns_leave_as_many_processes_as_one(acp: AcpHouse) -> None:
    """One process for each session, and none once it is closed."""
    chat = await acp.chat({"turns": [[{"do": "tool", "command": ["/bin/true"]}, {"do": "echo"}]]})
    for number in range(20):
        assert (await acp.turn(chat, f"turn {number}")).outcome == "completed"
    assert len(acp.received("initialize")) == 1
    rows = (await acp.house.storage.list_rows("process")).rows
    assert len(rows) == 1
    await acp.close_agents()
    acp.check_nothing_is_left()
    assert not (await acp.house.storage.list_rows("process")).rows
    await acp.check_prompts(chat)


async def test_an_agent_whose_inside_is_dead_gets_no_further_prompt(acp: AcpHouse) -> None:
    """It takes prompts and never says a word; the next prompt goes to a process that lives."""
    script = {"turns": [[{"do": "hang"}]]}
    chat = await acp.chat(script)
    await acp.retell(chat, script, options={"idle_seconds": 0.3})
    end = await acp.turn(chat, "first")
    assert (end.outcome, (await acp.problem(chat)).code) == ("failed", "agent-silent")
    await acp.retell(chat, {"turns": [ECHO]})
    assert (await acp.turn(chat, "second")).outcome == "completed"
    assert len(acp.received("initialize")) == 2
    await acp.check_prompts(chat)


async def test_a_later_turn_that_hangs_spoils_no_other(acp: AcpHouse) -> None:
    """The first was answered well; what waits behind the second goes once that is given up."""
    script = {"turns": [ECHO, [SAY, {"do": "hang"}]], "ignores": ["cancel"]}
    chat = await acp.chat(script)
    await acp.turn(chat, "first")
    await acp.retell(chat, {"turns": [ECHO]})
    await acp.house.send(chat, "second")
    await acp.until_said(chat, "I am at it.")
    await acp.house.send(chat, "third")
    assert [prompt["prompt"][0]["text"] for prompt in acp.prompts()] == ["first", "second"]
    await acp.house.engine.control.interrupt(chat)
    await acp.house.idle(chat)
    await acp.house.engine.queue.resume(chat)
    await acp.house.idle(chat)
    assert await acp.said(chat) == ["first", "I am at it.", "third"]
    await acp.check_prompts(chat)


async def test_an_agent_that_reads_no_more_can_be_interrupted(acp: AcpHouse) -> None:
    """A prompt that is longer than its pipe would wait in it for ever."""
    chat = await acp.chat(command=DEAF)
    await acp.house.send(chat, "x" * 1_000_000)

    async def is_begun() -> bool:
        return "turn-dispatched" in await acp.house.kinds(chat)

    await acp.until(is_begun)
    await acp.house.engine.control.interrupt(chat)
    await acp.house.idle(chat)
    assert (await acp.last_end(chat)).outcome == "interrupted"
    acp.check_nothing_is_left()


async def test_an_agent_that_closes_its_output_is_over(acp: AcpHouse) -> None:
    """It lives on and can say nothing any more; nobody waits for that."""
    chat = await acp.chat(command=DUMB)
    end = await acp.turn(chat, "first")
    assert (end.outcome, (await acp.problem(chat)).code) == ("failed", "agent-unreadable")
    acp.check_nothing_is_left()
    await acp.retell(chat, {"turns": [ECHO]})
    assert (await acp.turn(chat, "second")).outcome == "completed"


async def test_an_agent_that_reads_no_more_is_given_up_by_itself(acp: AcpHouse) -> None:
    """Its silence counts from before the prompt is written."""
    chat = await acp.chat()
    await acp.retell(chat, {}, command=DEAF, options={"idle_seconds": 0.3})
    end = await acp.turn(chat, "x" * 1_000_000)
    assert (end.outcome, (await acp.problem(chat)).message != "") == ("failed", True)
    acp.check_nothing_is_left()
    await acp.retell(chat, {"turns": [ECHO]})
    assert (await acp.turn(chat, "again")).outcome == "completed"
