"""The daemon dies while an agent is at work; afterwards the agent tells whatever it likes."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from spaced.domain.events.turn import TurnEnded
from spaced.engine.doctor import examine
from tests.integration.acp.acp_house import AcpHouse

LONG: Final = "All that was said before the crash. " * 200
SAY: Final = {"do": "say", "text": LONG, "pieces": 40, "id": "m-cut"}
HERE: Final = [{"do": "say", "text": "Here I am.", "id": "m-after"}]
ONLY_LOAD: Final[Mapping[str, Any]] = {"agentCapabilities": {"sessionCapabilities": {}}}
SLOW: Final = (
    "import os, sys, threading\n"
    "while not os.path.exists(sys.argv[1]): threading.Event().wait(0.01)\n"
    "open(sys.argv[2], 'w').close()\n"
)
MOMENTS: Final = ("speaking", "a tool runs", "asking")


def told(role: str, text: str) -> Mapping[str, Any]:
    """Return a step that tells a message."""
    content = {"type": "text", "text": text}
    return {
        "do": "update",
        "update": {"sessionUpdate": f"{role}_message_chunk", "content": content},
    }


ONCE: Final = [told("user", "first"), told("agent", "first")]
WENT_ON: Final = [*ONCE, told("user", "second"), told("agent", LONG + "I finished it alone.")]
UNKNOWN: Final = {"do": "error", "code": -32002, "message": "no such session"}
DIFFERS: Final = "agent-memory-differs"
LOST: Final = "conversation-lost"
TELLINGS: Final[Mapping[str, tuple[Mapping[str, Any], str]]] = {
    "what it kept": ({}, DIFFERS),
    "nothing": ({"forgets": True}, LOST),
    "everything twice": ({"on": {"session/load": ONCE * 2}}, DIFFERS),
    "that it went on": ({"on": {"session/load": [*WENT_ON, {"do": "answer"}]}}, DIFFERS),
    "another story": (
        {"on": {"session/load": [told("agent", "Who are you?"), {"do": "answer"}]}},
        DIFFERS,
    ),
    "that it knows nothing": ({"on": {"session/load": [UNKNOWN]}}, LOST),
}


async def at_work(acp: AcpHouse, folder: Path, moment: str) -> str:
    """Return a chat whose agent is in the middle of its second turn."""
    run = {"do": "tool", "command": [sys.executable, "-c", SLOW, f"{folder}/go", f"{folder}/done"]}
    # It never ends the turn by itself: a tool that is killed first would let it.
    pause = {"do": "pause"}
    steps = {
        "speaking": [SAY, pause],
        "a tool runs": [SAY, run, pause],
        "asking": [SAY, run | {"permission": True}, pause],
    }
    chat = await acp.chat({"turns": [[{"do": "echo"}], steps[moment]]})
    await acp.turn(chat, "first")
    await acp.house.send(chat, "second")
    await acp.until_said(chat, LONG)
    if moment == "asking":
        await acp.house.until_asked(chat)
    elif moment == "a tool runs":

        async def is_running() -> bool:
            return any(call["status"] == "running" for call in await acp.of(chat, "tool-call"))

        await acp.until(is_running)
    return chat


async def check_closed(acp: AcpHouse, chat: str) -> None:
    """Check that the transcript is the beginning of what was streamed, with marks where it ends."""
    assert (await acp.last_end(chat)).outcome == "abandoned"
    first, *cut = await acp.said(chat)
    assert (first, LONG.startswith("".join(cut))) == ("first", True)
    assert (await acp.house.items(chat))[-1]["code"] == "restarted"
    assert {call["status"] for call in await acp.of(chat, "tool-call")} <= {"interrupted"}
    assert not await acp.house.engine.asks.open(chat)


async def check_nothing_goes_on(acp: AcpHouse, folder: Path) -> None:
    """Let a tool that was left finish its work, and check that there is none."""
    (folder / "go").touch()
    await acp.close_agents()
    acp.check_nothing_is_left()
    assert not (folder / "done").exists()


async def check_whole(acp: AcpHouse) -> None:
    """Check that the log is sound."""
    assert [finding async for finding in examine(acp.house.storage)] == []


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("telling", TELLINGS)
async def test_the_log_is_the_truth_after_a_crash(
    acp: AcpHouse, tmp_path: Path, moment: str, telling: str
) -> None:
    """It keeps the beginning of what was streamed; whatever the agent tells changes nothing."""
    chat = await at_work(acp, tmp_path, moment)
    await acp.crash()
    await check_closed(acp, chat)
    before, said = await acp.house.items(chat), await acp.said(chat)

    script, notice = TELLINGS[telling]
    await acp.retell(chat, {"greeting": ONLY_LOAD, "turns": [HERE], **script})
    assert (await acp.turn(chat, "third")).outcome == "completed"
    after = await acp.house.items(chat)
    assert after[: len(before)] == before
    assert await acp.said(chat) == [*said, "Here I am."]
    assert acp.heard(chat) in ("", "Here I am.")
    assert [item["event"] for item in await acp.of(chat, "event")] == [notice]
    await check_nothing_goes_on(acp, tmp_path)
    await acp.check_prompts(chat)
    await check_whole(acp)


async def test_an_agent_that_outlives_the_daemon_does_not_outlive_the_next(
    acp: AcpHouse, tmp_path: Path
) -> None:
    """Neither it nor its tool, which leads a session of its own, and the tool finishes nothing."""
    chat = await at_work(acp, tmp_path, "a tool runs")
    await acp.crash_without_agents()
    assert acp.house.recovered.killed >= 2
    acp.check_nothing_is_left()
    (tmp_path / "go").touch()
    await check_closed(acp, chat)
    await acp.retell(chat, {"turns": [HERE]})
    assert (await acp.turn(chat, "third")).outcome == "completed"
    assert not (tmp_path / "done").exists()
    await acp.check_prompts(chat)


@pytest.mark.parametrize(
    ("point", "is_answered"),
    [
        ("admitted", True),
        ("turn-begun", True),
        ("execution-recorded", True),
        ("dispatch-recorded", False),
        ("handed-over", False),
        ("turn-reported", False),
        ("turn-ended", True),
    ],
)
async def test_a_prompt_reaches_the_agent_once_wherever_the_daemon_dies(
    acp: AcpHouse, point: str, *, is_answered: bool
) -> None:
    """What may have been handed over never goes again; everything else goes by itself."""
    chat = await acp.chat({"turns": [[{"do": "echo"}]]})
    await acp.crash_at(point, acp.house.send(chat, "first"))
    await acp.house.idle(chat)
    end = await acp.last_end(chat)
    assert end.outcome == ("completed" if is_answered else "abandoned")

    assert (await acp.turn(chat, "second")).outcome == "completed"
    got = [block["text"] for prompt in acp.prompts() for block in prompt["prompt"]]
    assert got.count("first") == 1 if is_answered else got.count("first") <= 1
    assert got.count("second") == 1
    await check_whole(acp)


async def test_prompts_that_wait_go_after_a_crash(acp: AcpHouse, tmp_path: Path) -> None:
    """In their order, once each; only the one that was at work is given up."""
    chat = await at_work(acp, tmp_path, "speaking")
    for text in ("third", "fourth"):
        await acp.house.send(chat, text)
    await acp.retell(chat, {"turns": [[{"do": "echo"}]]})
    await acp.crash()
    await acp.house.idle(chat)
    ends = [end.outcome for end in await acp.house.found(chat, TurnEnded)]
    assert ends == ["completed", "abandoned", "completed", "completed"]
    assert (await acp.said(chat))[-2:] == ["third", "fourth"]
    await acp.check_prompts(chat)
