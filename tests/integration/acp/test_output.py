"""What agents say, in whatever order, size and shape: nothing is lost, and nothing breaks."""

import sys
from typing import Any

import pytest

from spaced.domain.events.turn import TurnEnded
from tests.integration.acp.acp_house import AcpHouse
from tests.integration.acp.crude_agents import STUTTERING

SAY = {"do": "say", "text": "Well.", "id": "m1"}


def update(kind: str, /, **fields: Any) -> dict[str, Any]:
    """Return a step that tells an update."""
    return {"do": "update", "update": {"sessionUpdate": kind, **fields}}


def chunk(text: str, **fields: Any) -> dict[str, Any]:
    """Return an update that says a piece of an answer."""
    return update("agent_message_chunk", content={"type": "text", "text": text}, **fields)


async def test_a_message_is_streamed_into_one_item(acp: AcpHouse) -> None:
    """However many pieces it comes in."""
    text = "The quick brown fox. " * 50
    chat = await acp.chat({"turns": [[{"do": "say", "text": text, "pieces": 80, "id": "m1"}]]})
    await acp.turn(chat)
    assert await acp.said(chat) == [text]
    await acp.check_prompts(chat)


async def test_pieces_without_a_name_are_parted_by_what_comes_between(acp: AcpHouse) -> None:
    """Half of all agents name nothing."""
    turn = [
        {"do": "think", "text": "Hm."},
        {"do": "say", "text": "One. "},
        {"do": "say", "text": "Still one."},
        {"do": "tool", "id": "c1"},
        {"do": "say", "text": "Two."},
    ]
    chat = await acp.chat({"turns": [turn]})
    await acp.turn(chat)
    assert await acp.said(chat) == ["One. Still one.", "Two."]
    assert [item["type"] for item in await acp.house.items(chat)][1:] == [
        "reasoning",
        "message",
        "tool-call",
        "tool-result",
        "message",
    ]


async def test_a_thought_alone_is_no_answer(acp: AcpHouse) -> None:
    """The turn goes on until the agent says that it is over."""
    chat = await acp.chat({"turns": [[{"do": "think", "text": "Hm.", "id": "m1"}, SAY]]})
    end = await acp.turn(chat)
    assert (end.outcome, await acp.said(chat)) == ("completed", ["Well."])


async def test_an_emoji_that_was_cut_in_two_is_whole_again(acp: AcpHouse) -> None:
    """Agents cut between the halves of a character."""
    chat = await acp.chat(
        {"turns": [[chunk("a\ud83d", messageId="m"), chunk("\ude00b", messageId="m")]]}
    )
    await acp.turn(chat)
    assert await acp.said(chat) == ["a\U0001f600b"]


async def test_an_echo_of_the_prompt_is_not_a_second_one(acp: AcpHouse) -> None:
    """One agent tells each prompt back."""
    echo = update("user_message_chunk", content={"type": "text", "text": "go"}, messageId="u1")
    chat = await acp.chat({"turns": [[echo, SAY]]})
    await acp.turn(chat)
    assert await acp.house.texts(chat) == ["user: go", "assistant: Well."]


async def test_what_comes_after_the_answer_is_kept_and_marked(acp: AcpHouse) -> None:
    """It is legal, and it happens; the turn is over all the same."""
    later = {"do": "later", "steps": [{"do": "say", "text": "By the way.", "id": "m2"}]}
    chat = await acp.chat({"turns": [[SAY, later], [SAY]]})
    await acp.turn(chat)

    async def is_there() -> bool:
        return "By the way." in await acp.said(chat)

    await acp.until(is_there)
    (late,) = [i for i in await acp.house.items(chat) if i.get("content") == "By the way."]
    assert late["late"] is True


async def test_a_tool_call_that_is_told_three_times_is_one(acp: AcpHouse) -> None:
    """And an update may be the first that is heard of one."""
    call = update("tool_call", toolCallId="c1", title="ls", kind="execute", status="in_progress")
    only = update(
        "tool_call_update", toolCallId="c2", title="cat", status="completed", rawOutput="x"
    )
    chat = await acp.chat({"turns": [[call, call, only, call]]})
    await acp.turn(chat)
    assert [call["call_id"] for call in await acp.of(chat, "tool-call")] == ["c1", "c2"]
    assert "x" in [result["output"] for result in await acp.of(chat, "tool-result")]


async def test_large_output_is_kept_in_bounds(acp: AcpHouse) -> None:
    """300 KB in one line: the head, the tail and the length stay."""
    command = [sys.executable, "-c", "print('y' * 300_000, end='')"]
    turn = [{"do": "tool", "command": command}, {"do": "flood", "bytes": 300_000, "on": "stdout"}]
    chat = await acp.chat({"turns": [turn]})
    assert (await acp.turn(chat)).outcome == "completed"
    (result,) = await acp.of(chat, "tool-result")
    assert result["full_length"] == 300_000
    assert len(result["output"]) < 270_000
    assert [len(text) for text in await acp.said(chat)] == [300_000]


async def test_a_line_of_ten_megabytes_is_a_line(acp: AcpHouse) -> None:
    """Whole files come like that."""
    chat = await acp.chat({"turns": [[{"do": "flood", "bytes": 10 << 20, "on": "stdout"}]]})
    assert (await acp.turn(chat)).outcome == "completed"
    assert [len(text) for text in await acp.said(chat)] == [10 << 20]


async def test_what_nobody_knows_is_kept_and_answered(acp: AcpHouse) -> None:
    """Updates of a new kind, notifications of a vendor, and a request that waits for an answer."""
    turn = [
        update("mood_update", mood="good"),
        {"do": "notify", "method": "_vendor/status", "params": {"x": 1}},
        {"do": "request", "method": "fs/write_text_file", "params": {"path": "/x", "content": ""}},
        {"do": "request", "method": "craft/drainMidTurnQueue"},
        SAY,
    ]
    chat = await acp.chat({"turns": [turn]})
    assert (await acp.turn(chat)).outcome == "completed"
    assert [item["event"] for item in await acp.of(chat, "event")] == [
        "acp:mood_update",
        "acp:refused-request",
        "acp:refused-request",
    ]
    assert await acp.said(chat) == ["Well."]


@pytest.mark.parametrize(
    "junk",
    [
        {"text": "42"},
        {"text": '"ready"'},
        {"text": '{"level":"warn","msg":"slow"}'},
        {"text": '{"jsonrpc":"2.0","method":"session/update","params":{"upd'},
        {"hex": "c328a0fffe"},
        {"text": "[" * 5000},
        {"text": '{"jsonrpc":"2.0","id":99,"result":{}}'},
        {"text": '{"jsonrpc":"2.0","method":"session/update","params":{"update":[]}}'},
        {"text": '{"jsonrpc":"2.0","method":"session/update","params":null}\r'},
    ],
    ids=repr,
)
async def test_junk_between_messages_costs_nothing(acp: AcpHouse, junk: dict[str, str]) -> None:
    """Scalars, logs, half a message, no text at all, an answer that nobody asked for."""
    chat = await acp.chat(
        {"turns": [[SAY, {"do": "line", **junk}, {"do": "say", "text": "Yes.", "id": "m2"}]]}
    )
    assert (await acp.turn(chat)).outcome == "completed"
    assert await acp.said(chat) == ["Well.", "Yes."]


async def test_a_program_that_only_prints_is_given_up(acp: AcpHouse) -> None:
    """After a thousand lines in a row, with the last of them to look at."""
    noise = {"do": "line", "text": "Compiling...", "times": 1200}
    chat = await acp.chat({"turns": [[noise, {"do": "hang"}], [SAY]]})
    end = await acp.turn(chat)
    assert (end.outcome, (await acp.problem(chat)).code) == ("failed", "agent-unreadable")
    await acp.turn(chat)
    assert (await acp.last_end(chat)).outcome == "failed"  # a new process, and the same script


@pytest.mark.parametrize(
    ("code", "message"),
    [(-32603, "Internal error: overloaded"), (400, "Bad Request"), (500, "upstream")],
)
async def test_a_fault_of_the_model_fails_the_turn_alone(
    acp: AcpHouse, code: int, message: str
) -> None:
    """The session takes the next prompt in the same process."""
    fault = {"do": "error", "code": code, "message": message}
    chat = await acp.chat({"turns": [[SAY, fault], [{"do": "echo"}]]})
    end = await acp.turn(chat)
    problem = await acp.problem(chat)
    assert (end.outcome, problem.code, message in problem.message) == (
        "failed",
        "agent-error",
        True,
    )
    assert (await acp.turn(chat, "again")).outcome == "completed"
    assert await acp.said(chat) == ["Well.", "again"]
    assert len(acp.received("initialize")) == 1
    await acp.check_prompts(chat)


async def test_a_fault_that_is_told_as_text_is_text(acp: AcpHouse) -> None:
    """One agent does that; nobody can tell, so it is shown as it is."""
    chat = await acp.chat({"turns": [[{"do": "say", "text": "Error: 400", "id": "m"}]]})
    assert (await acp.turn(chat)).outcome == "completed"
    assert await acp.said(chat) == ["Error: 400"]


async def test_a_refusal_is_shown_as_one(acp: AcpHouse) -> None:
    """The agent has dropped the prompt, which a person has to know."""
    refuse = {"do": "answer", "result": {"stopReason": "refusal"}}
    chat = await acp.chat({"turns": [[SAY, refuse], [SAY]]})
    end = await acp.turn(chat)
    assert (end.outcome, (await acp.problem(chat)).code) == ("failed", "agent-refused")


async def test_two_sessions_do_not_mix(acp: AcpHouse) -> None:
    """Each has a process of its own, whatever their agents call their messages."""
    one = await acp.chat({"turns": [[{"do": "say", "text": "I am one.", "id": "m"}]]})
    two = await acp.chat({"turns": [[{"do": "say", "text": "I am two.", "id": "m"}]]})
    await acp.house.send(one, "go")
    await acp.turn(two)
    await acp.house.idle(one)
    assert (await acp.said(one), await acp.said(two)) == (["I am one."], ["I am two."])
    assert len(acp.received("session/new")) == 2


async def test_a_thought_and_a_message_of_one_name_are_two(acp: AcpHouse) -> None:
    """One agent gives both the same."""
    chat = await acp.chat({"turns": [[{"do": "think", "text": "Hm.", "id": "m1"}, SAY]]})
    await acp.turn(chat)
    assert await acp.said(chat) == ["Well."]
    (thought,) = await acp.of(chat, "reasoning")
    assert "Hm." in str(thought)


async def test_an_unknown_kind_of_update_is_kept(acp: AcpHouse) -> None:
    """What nobody understands yet is not thrown away, and breaks nothing."""
    chat = await acp.chat({"turns": [[update("weather_update", degrees=21), SAY]]})
    assert (await acp.turn(chat)).outcome == "completed"
    (kept,) = await acp.of(chat, "event")
    assert ("weather_update" in str(kept["event"]), "21" in str(kept)) == (True, True)
    assert await acp.said(chat) == ["Well."]


async def test_an_unknown_notification_costs_nothing(acp: AcpHouse) -> None:
    """Agents have inventions of their own, with and without the mark of one."""
    odd = [{"do": "notify", "method": name, "params": {"a": 1}} for name in ("_x/y", "craft/z")]
    chat = await acp.chat({"turns": [[*odd, SAY]]})
    assert (await acp.turn(chat)).outcome == "completed"
    assert await acp.said(chat) == ["Well."]


@pytest.mark.parametrize("method", ["craft/drain", "fs/read_text_file", "terminal/create"])
async def test_a_request_for_what_we_do_not_offer_is_answered(acp: AcpHouse, method: str) -> None:
    """The agent waits for the answer, and goes on when it is told that there is none."""
    chat = await acp.chat({"turns": [[{"do": "request", "method": method}, SAY]]})
    assert (await acp.turn(chat)).outcome == "completed"
    assert [answer["error"]["code"] for answer in acp.answers()] == [-32601]
    assert await acp.said(chat) == ["Well."]


async def test_an_answer_that_comes_twice_ends_one_turn(acp: AcpHouse) -> None:
    """The second is about nothing any more, and must not end the next turn early."""
    chat = await acp.chat(command=STUTTERING)
    ends = [(await acp.turn(chat, text)).outcome for text in ("first", "second", "third")]
    assert ends == ["completed"] * 3
    assert len(await acp.house.found(chat, TurnEnded)) == 3
