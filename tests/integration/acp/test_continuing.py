"""Conversations over restarts and crashes: gone on with, or lost aloud; the log is the truth."""

from typing import Any

import pytest

from spaced.domain.events.session import SessionReset
from spaced.engine.doctor import examine
from tests.integration.acp.acp_house import AcpHouse

ECHO = [{"do": "echo"}]
RECALL = [{"do": "recall"}]
LONG = "All that was said before the crash. " * 200


async def check_whole(acp: AcpHouse) -> None:
    """Check that the log is sound."""
    assert [finding async for finding in examine(acp.house.storage)] == []


async def begun(acp: AcpHouse, script: dict[str, Any] | None = None) -> str:
    """Return a chat that has had a turn."""
    chat = await acp.chat(script or {"turns": [ECHO]})
    await acp.turn(chat, "first")
    return chat


async def notices(acp: AcpHouse, chat: str, event: str) -> list[Any]:
    """Return what a person is told of an event."""
    return [item for item in await acp.of(chat, "event") if item["event"] == event]


async def test_a_conversation_goes_on_after_a_restart(acp: AcpHouse) -> None:
    """It is resumed, so nothing is told again, and the agent remembers."""
    chat = await begun(acp)
    await acp.restart()
    await acp.retell(chat, {"turns": [RECALL]})
    await acp.turn(chat, "second")
    assert await acp.said(chat) == ["first", "first\nsecond"]
    assert (len(acp.received("session/resume")), len(acp.received("session/load"))) == (1, 0)
    await acp.check_prompts(chat)
    await check_whole(acp)


async def test_a_conversation_goes_on_after_a_crash(acp: AcpHouse) -> None:
    """What was streamed is in the transcript, though the agent has forgotten it; that is noticed."""
    turn = [{"do": "say", "text": LONG, "pieces": 50, "id": "m1"}, {"do": "pause"}]
    chat = await acp.chat({"turns": [turn]})
    await acp.house.send(chat, "first")
    await acp.until_said(chat, LONG[:1000])
    await acp.crash()
    (kept,) = await acp.said(chat) or [""]
    assert LONG.startswith(kept)
    assert (await acp.last_end(chat)).outcome == "abandoned"

    await acp.retell(chat, {"turns": [RECALL]})
    await acp.turn(chat, "second")
    assert (await acp.said(chat))[-1] == "first\nsecond"
    assert LONG.startswith((await acp.said(chat))[0])
    assert len(acp.received("session/load")) == 1
    await acp.check_prompts(chat)
    await check_whole(acp)


async def test_a_loaded_conversation_is_told_again_to_nobody(acp: AcpHouse) -> None:
    """The transcript has everything once, and no client hears of it twice."""
    script: dict[str, Any] = {
        "greeting": {"agentCapabilities": {"sessionCapabilities": {}}},
        "turns": [[{"do": "think", "text": "Hm.", "id": "t"}, {"do": "tool", "id": "c1"}, *ECHO]],
    }
    chat = await begun(acp, script)
    before = await acp.house.items(chat)
    await acp.restart()
    heard = len(acp.house.heard)
    await acp.turn(chat, "second")
    assert (await acp.house.items(chat))[: len(before)] == before
    texts = [getattr(one, "text", "") for one in acp.house.heard[heard:]]
    assert "first" not in "".join(texts)
    assert not await notices(acp, chat, "agent-memory-differs")
    await acp.check_prompts(chat)


async def test_a_resume_that_tells_everything_again_is_not_believed(acp: AcpHouse) -> None:
    """It must not, and some do."""
    chat = await begun(acp)
    await acp.restart()
    again = {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "first"},
        "messageId": "old",
    }
    await acp.retell(chat, {"on": {"session/resume": [{"do": "update", "update": again}]}})
    await acp.turn(chat, "second")
    assert await acp.said(chat) == ["first", "second"]


async def test_a_conversation_that_is_unknown_is_lost_aloud(acp: AcpHouse) -> None:
    """The next agent is given the transcript, and a person is told."""
    chat = await begun(acp)
    await acp.restart()
    for file in acp.memory.glob("conv-*.json"):
        file.unlink()
    await acp.turn(chat, "second")
    (reset,) = await acp.house.found(chat, SessionReset)
    assert (reset.generation, reset.reason) == (2, "lost")
    assert len(await notices(acp, chat, "conversation-lost")) == 1
    history, prompt = (block["text"] for block in acp.prompts()[-1]["prompt"])
    assert ("first" in history, prompt) == (True, "second")
    await check_whole(acp)


async def test_a_load_that_destroys_what_it_loads_is_noticed(acp: AcpHouse) -> None:
    """One agent does that; what it tells again is nothing, so it is given the transcript."""
    chat = await begun(acp, {"greeting": {"agentCapabilities": {"sessionCapabilities": {}}}})
    await acp.restart()
    script = {"forgets": True, "greeting": {"agentCapabilities": {"sessionCapabilities": {}}}}
    await acp.retell(chat, script)
    await acp.turn(chat, "second")
    (reset,) = await acp.house.found(chat, SessionReset)
    assert reset.reason == "lost"
    assert "first" in acp.prompts()[-1]["prompt"][0]["text"]


async def test_an_agent_that_is_known_to_forget_is_never_asked_to_load(acp: AcpHouse) -> None:
    """Its profile says so."""
    chat = await begun(acp)
    await acp.restart()
    await acp.retell(chat, {}, options={"resumable": False})
    await acp.turn(chat, "second")
    assert not [*acp.received("session/load"), *acp.received("session/resume")]
    assert "first" in acp.prompts()[-1]["prompt"][0]["text"]


async def test_another_conversation_than_ours_is_a_loss(acp: AcpHouse) -> None:
    """Some agents go on with a new one and say nothing."""
    chat = await begun(acp)
    await acp.restart()
    (acp.memory / "conv-other.json").write_text("[]")
    other = {"do": "answer", "result": {"sessionId": "conv-other"}}
    await acp.retell(chat, {"on": {"session/resume": [other]}})
    await acp.turn(chat, "second")
    assert len(await notices(acp, chat, "conversation-lost")) == 1
    assert acp.prompts()[-1]["session"] == "conv-other"
    assert "first" in acp.prompts()[-1]["prompt"][0]["text"]


@pytest.mark.parametrize(
    "step",
    [{"do": "hang"}, {"do": "error", "code": -32603, "message": "disk full"}, {"do": "exit"}],
    ids=["never answers", "fails", "ends"],
)
async def test_a_conversation_outlives_a_bad_load(acp: AcpHouse, step: dict[str, Any]) -> None:
    """Its name is kept: the next attempt finds it."""
    chat = await begun(acp)
    await acp.restart()
    ways = {"session/resume": [step], "session/load": [step]}
    await acp.retell(chat, {"on": ways}, options={"session_seconds": 0.3, "load_seconds": 0.3})
    assert (await acp.turn(chat, "second")).outcome == "not-dispatched"
    assert (await acp.problem(chat)).code in ("agent-silent", "agent-not-started")
    assert not await acp.house.found(chat, SessionReset)

    await acp.retell(chat, {"turns": [RECALL]})
    await acp.turn(chat, "third")
    assert (await acp.said(chat))[-1] == "first\nsecond\nthird"
    await acp.check_prompts(chat)


async def test_an_agent_that_goes_on_alone_is_noticed(acp: AcpHouse) -> None:
    """It finishes the turn while it loads it; that is not in our transcript."""
    only_load: dict[str, Any] = {"agentCapabilities": {"sessionCapabilities": {}}}
    chat = await begun(acp, {"greeting": only_load})
    await acp.restart()
    more = {"do": "say", "text": "And I did more.", "id": "m9"}
    told = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "first"}}
    said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "first"}}
    steps: list[Any] = [{"do": "update", "update": one} for one in (told, said)]
    steps += [more, {"do": "answer", "result": {}}]
    await acp.retell(chat, {"greeting": only_load, "on": {"session/load": steps}})
    await acp.turn(chat, "second")
    (notice,) = await notices(acp, chat, "agent-memory-differs")
    assert notice["details"]["verdict"] == "agent-ahead"
    assert "And I did more." not in await acp.said(chat)


async def test_a_reset_begins_anew_in_the_same_process(acp: AcpHouse) -> None:
    """And nothing of before is handed over."""
    chat = await begun(acp, {"turns": [ECHO, RECALL]})
    await acp.house.engine.control.reset(chat)
    await acp.turn(chat, "second")
    assert (await acp.said(chat))[-1] == "second"


async def test_the_mode_is_set_again_after_a_load(acp: AcpHouse) -> None:
    """A load falls back to the agent's own, which may ask nobody."""
    values = [{"value": "ask", "name": "Ask"}, {"value": "auto", "name": "Auto"}]
    option = {"id": "mode", "category": "mode", "currentValue": "auto", "options": values}
    chat = await acp.chat({"conversation": {"configOptions": [option]}}, mode="ask")
    await acp.turn(chat, "first")
    await acp.restart()
    await acp.turn(chat, "second")
    chosen = acp.received("session/set_config_option")
    assert [one["params"]["value"] for one in chosen] == ["ask", "ask"]


async def test_a_folder_that_is_gone_is_no_puzzle(acp: AcpHouse) -> None:
    """It is said before anything is started."""
    chat = await begun(acp)
    await acp.restart()
    acp.house.workplace.rename(acp.house.workplace.with_name("moved"))
    end = await acp.turn(chat, "second")
    assert (end.outcome, (await acp.problem(chat)).code) == ("not-dispatched", "directory-gone")
    acp.house.workplace.rmdir()
    acp.house.workplace.with_name("moved").rename(acp.house.workplace)
    assert (await acp.turn(chat, "third")).outcome == "completed"


@pytest.mark.parametrize("is_loaded", [False, True], ids=["in one process", "after a load"])
async def test_names_that_are_counted_anew_hide_nothing(acp: AcpHouse, *, is_loaded: bool) -> None:
    """Each turn keeps what it was, though the agent calls its work what it called other work."""
    only_load: dict[str, Any] = {"agentCapabilities": {"sessionCapabilities": {}}}
    turns = [
        [
            {"do": "tool", "id": "call_1", "command": ["/bin/echo", word]},
            {"do": "say", "id": "m1", "text": f"It is {word}."},
        ]
        for word in ("one", "two")
    ]
    chat = await acp.chat({"greeting": only_load, "turns": turns})
    await acp.turn(chat, "first")
    before = await acp.house.items(chat)
    if is_loaded:
        await acp.restart()
        await acp.retell(chat, {"greeting": only_load, "turns": turns[1:]})
    await acp.turn(chat, "second")
    assert (await acp.house.items(chat))[: len(before)] == before
    assert await acp.said(chat) == ["It is one.", "It is two."]
    outputs = [result["output"] for result in await acp.of(chat, "tool-result")]
    assert outputs == ["one\n", "two\n"]
    assert len(await acp.of(chat, "tool-call")) == 2
    await check_whole(acp)
