"""Turns of a chat: what is recorded from a prompt to its answer."""

import asyncio

import pytest

from spaced.domain.events.transcript import AgentItemAppended
from spaced.domain.events.turn import TurnDispatched, TurnEnded, TurnRetrying, TurnStarted
from spaced.domain.events.workflow import WorkflowDefined
from spaced.domain.workflow import Step, Workflow
from spaced.engine.announcements import Committed, StatusChanged, TextDelta
from spaced.engine.journal import Entry, Statement
from spaced.runtime.updates import TextAppended
from tests.integration.engine.house import House, Houses, gate, say, text_prompt


async def test_a_prompt_is_answered(house: House) -> None:
    """The whole way: admitted, promoted, handed over, answered, idle again."""
    chat = await house.chat([say("Hello there")])

    await house.turn(chat, "Hi")

    assert await house.texts(chat) == ["user: Hi", "assistant: Hello there"]
    assert (await house.session(chat)).status == "idle"


async def test_a_turn_begins_in_one_append(house: House) -> None:
    """Promotion, the user's item, the status, the step's wake and wait stand together."""
    chat = await house.chat([say("Hello")])

    await house.turn(chat)

    batches = [[e.kind for e in h.events] for h in house.heard if isinstance(h, Committed)]
    assert [
        "prompt-promoted",
        "agent-item-appended",
        "agent-status-changed",
        "step-resumed",
        "turn-started",
        "step-waiting",
    ] in batches
    assert batches[-1][-2:] == ["turn-ended", "agent-status-changed"]


async def test_dispatch_is_recorded_before_the_agent_is_told(house: House) -> None:
    """After a crash in between nobody can say that the agent was not told."""
    chat = await house.chat([gate(), say("Hello")])
    await house.send(chat, "Hi")

    await house.reached()

    (dispatched,) = await house.found(chat, TurnDispatched)
    live = house.engine.executions.live(chat)
    assert live is not None
    assert dispatched.execution_id == live.id
    house.runtime.gates.open("gate")
    await house.idle(chat)


async def test_status_is_announced_from_starting_to_idle(house: House) -> None:
    """Each word once, and idle last."""
    chat = await house.chat([say("Hello")])

    await house.turn(chat)

    words = [h.status.word for h in house.heard if isinstance(h, StatusChanged)]
    assert words == ["starting", "busy", "idle"]


async def test_the_second_turn_uses_the_same_connection(house: House) -> None:
    """A connection is opened once and kept while it is in use."""
    chat = await house.chat([say("One")], [say("Two")])

    await house.turn(chat)
    await house.turn(chat)

    assert (await house.kinds(chat)).count("execution-opened") == 1
    assert (await house.texts(chat))[1::2] == ["assistant: One", "assistant: Two"]


async def test_an_unused_connection_is_closed_after_a_while(house: House) -> None:
    """A parked session has no process; the next turn opens a new connection and continues."""
    chat = await house.chat([say("One")], [say("Two")])
    await house.turn(chat)

    await house.pass_time(10 * 60_000)
    while house.engine.executions.live(chat) is not None or not await _ended(house, chat):
        await asyncio.wait_for(_breathe(), 5)
    await house.turn(chat)

    assert (await house.texts(chat))[-1] == "assistant: Two"
    assert (await house.kinds(chat)).count("execution-opened") == 2


async def _ended(house: House, chat: str) -> bool:
    return "execution-ended" in await house.kinds(chat)


async def _breathe() -> None:
    await asyncio.get_running_loop().run_in_executor(None, lambda: None)


async def test_text_is_announced_before_it_is_recorded(house: House) -> None:
    """Deltas are shown at once with their places; the log has the text at the item's end."""
    chat = await house.chat([say("abcdef", pieces=3)])

    await house.turn(chat)

    deltas = [h for h in house.heard if isinstance(h, TextDelta)]
    appended = await house.found(chat, AgentItemAppended)
    first = appended[-1].item["content"]
    assert first + "".join(d.text for d in deltas) == "abcdef"
    assert [d.offset for d in deltas] == [2, 4]


async def test_a_failed_turn_shows_why(house: House) -> None:
    """The problem is on the turn and in the transcript, and the session takes the next prompt."""
    chat = await house.chat(
        [{"do": "fail", "message": "No more credit", "code": "credit"}], [say("Ok")]
    )

    await house.turn(chat)
    await house.turn(chat)

    ends = await house.found(chat, TurnEnded)
    assert [end.outcome for end in ends] == ["failed", "completed"]
    errors = [item for item in await house.items(chat) if item["type"] == "error"]
    assert errors[0]["code"] == "credit"


async def test_an_agent_that_crashes_fails_its_turn(house: House) -> None:
    """The connection is gone with the turn; the next turn makes another one."""
    chat = await house.chat([say("Hel"), {"do": "crash"}], [say("Again")])

    await house.turn(chat)
    await house.turn(chat)

    ends = await house.found(chat, TurnEnded)
    assert [end.outcome for end in ends] == ["failed", "completed"]
    assert (await house.kinds(chat)).count("execution-opened") == 2


async def test_a_prompt_that_was_not_taken_is_handed_over_again(house: House) -> None:
    """Visible while it waits, and answered by the attempt that is taken."""
    chat = await house.chat([{"do": "not_taken", "times": 2, "after_ms": 500}, say("Now")])
    await house.send(chat, "Hi")

    await house.until_word(chat, "retry")
    assert house.engine.coordinator.status(chat).attempt == 2
    await house.pass_time(500)
    await house.until_word(chat, "busy")
    await house.until_word(chat, "retry")
    await house.pass_time(500)
    await house.idle(chat)

    assert [e.attempt for e in await house.found(chat, TurnRetrying)] == [2, 3]
    assert await house.texts(chat) == ["user: Hi", "assistant: Now"]
    assert len(await house.found(chat, TurnDispatched)) == 3


async def test_attempts_are_bounded(house: House) -> None:
    """After five hand-overs the turn fails, and says what to do."""
    chat = await house.chat([{"do": "not_taken", "times": 99, "after_ms": 10}])
    await house.send(chat, "Hi")

    for attempt in range(2, 6):
        while house.engine.coordinator.status(chat).attempt != attempt:
            await _breathe()
        await house.pass_time(10)
    await house.idle(chat)

    (end,) = await house.found(chat, TurnEnded)
    assert (end.outcome, end.problem.code) == ("failed", "not-taken")
    assert len(await house.found(chat, TurnDispatched)) == 5


async def test_attempts_end_after_ten_minutes(house: House) -> None:
    """An agent that asks to wait for an hour is not waited for."""
    chat = await house.chat([{"do": "not_taken", "times": 2, "after_ms": 3_600_000}])

    await house.turn(chat)

    (end,) = await house.found(chat, TurnEnded)
    assert (end.outcome, end.problem.code) == ("failed", "not-taken")


@pytest.mark.parametrize(
    ("how", "code"), [("fails", "runtime-problem"), ("breaks", "runtime-problem")]
)
async def test_an_agent_that_cannot_be_opened_leaves_the_prompt_pending(
    house: House, how: str, code: str
) -> None:
    """The agent never had it: it waits in a paused queue, and the reason is shown."""
    chat = await house.chat([say("Ok")], options={"open": how})

    await house.turn(chat, "Hi")

    (end,) = await house.found(chat, TurnEnded)
    assert (end.outcome, end.problem.code) == ("not-dispatched", code)
    assert [p.parts for p in await house.engine.queue.pending(chat)] == [text_prompt("Hi")]
    assert (await house.session(chat)).is_queue_paused
    assert (await house.items(chat))[-1]["code"] == code


async def test_a_prompt_that_was_returned_is_shown_once(house: House) -> None:
    """Its item stays, and the next promotion adds none."""
    chat = await house.chat([say("Ok")], options={"open": "fails"})
    await house.turn(chat, "Hi")
    session = await house.session(chat)
    await house.mend_profile(session.agent_id or "")

    await house.engine.queue.resume(chat)
    await house.idle(chat)

    assert await house.texts(chat) == ["user: Hi", "assistant: Ok"]


async def test_the_title_comes_from_the_first_prompt(house: House) -> None:
    """Until somebody sets one; the second prompt changes nothing."""
    chat = await house.chat([say("Ok")])

    await house.turn(chat, "\n  Fix   the login page  \nplease")
    await house.turn(chat, "And the logout page")

    assert (await house.session(chat)).title == "Fix the login page"


async def test_usage_is_summed_over_turns(house: House) -> None:
    """What a turn used stands on the turn; the session has the sums."""
    used = {"do": "usage", "usage": {"input_tokens": 10}}
    chat = await house.chat([used, say("Ok")])

    await house.turn(chat)

    session = await house.session(chat)
    assert session.data["usage"] == {"input_tokens": 10}


async def test_a_newer_version_of_the_chat_workflow_applies_to_later_turns(house: House) -> None:
    """A chat's step is read again at each turn, so its instructions change with the log."""
    chat = await house.chat([{"do": "echo", "what": "instructions"}])
    await house.turn(chat)
    old = await house.engine.workflows.newest("agent-chat")
    assert old is not None
    step = Step(id="agent-chat-step", name="Chat", position=0, prompt="Be brief.")
    changed = WorkflowDefined(
        workflow=Workflow(name="Agent Chat", prompt="We write Python.", steps=(step,)),
        origin={"source": "builtin"},
    )
    await house.engine._parts.journal.append(
        Entry(stream="agent-chat", expected_version=1, statements=[Statement(event=changed)])
    )

    await house.turn(chat)

    assert (await house.texts(chat))[-1] == "assistant: We write Python.\n\nBe brief."


async def test_turns_beyond_the_bound_wait_visibly(houses: Houses) -> None:
    """A place is given in the order of asking, and the one who waits is shown as queued."""
    house = await houses.open(concurrent_turns=1)
    first = await house.chat([gate("a")])
    second = await house.chat([say("Mine")])
    await house.send(first, "Hi")
    await house.reached("a")
    await house.send(second, "Hi")

    await house.until_word(second, "queued")
    house.runtime.gates.open("a")
    await house.idle(second)

    assert (await house.texts(second))[-1] == "assistant: Mine"


async def test_two_sessions_at_work_in_one_folder_are_told(house: House) -> None:
    """Once, in the transcript of the one that comes second."""
    first = await house.chat([gate("a")])
    second = await house.chat([say("Ok")])
    await house.send(first, "Hi")
    await house.reached("a")

    await house.turn(second)
    await house.turn(second)

    notices = [i for i in await house.items(second) if i.get("event") == "shared-folder"]
    assert [notice["details"] for notice in notices] == [
        {"directory": str(house.workplace), "session_ids": [first]}
    ]
    house.runtime.gates.open("a")
    await house.idle(first)


@pytest.mark.parametrize("text", ["", "\x00", "a\u202eb", "\x1b[31mred", "x" * 200_000])
async def test_any_text_is_kept_as_it_came(house: House, text: str) -> None:
    """Control characters, marks of direction, long lines and nothing at all are stored once."""
    chat = await house.chat([say(text)], [say("next")])

    await house.turn(chat, "Hi " + text)
    await house.turn(chat)

    said = await house.texts(chat)
    assert said[:2] == ["user: Hi " + text, "assistant: " + text]
    assert said[-1] == "assistant: next"


async def test_halves_of_characters_are_joined_or_replaced(house: House) -> None:
    """Two halves in two reports are one character; what stays alone is replaced, and noted."""
    chat = await house.chat([gate(), say("next")])
    await house.send(chat, "half \ud83d")
    await house.reached()
    live = house.engine.executions.live(chat)
    assert live is not None
    (turn,) = await house.found(chat, TurnStarted)

    for text in ("smile \ud83d", "\ude00 half \ud83d", ""):
        await live.sink.report(TextAppended(source="x", text=text, turn_id=turn.turn_id))
    house.runtime.gates.open("gate")
    await house.idle(chat)

    items = [item for item in await house.items(chat) if item["type"] == "message"]
    assert [item["content"] for item in items] == [
        "half \ufffd",
        "smile \U0001f600 half \ufffd",
        "next",
    ]
    assert items[1]["replaced"] == 1


async def test_a_turn_that_asks_is_shown_as_waiting(house: House) -> None:
    """With the asks that are open, until somebody has answered."""
    chat = await house.chat([{"do": "question", "questions": [{"text": "Which?"}]}, gate()])
    await house.send(chat, "Hi")

    await house.until_word(chat, "waiting")
    (ask_id,) = house.engine.coordinator.status(chat).ask_ids
    await house.engine.asks.answer_question(ask_id, [["left"]])
    await house.until_word(chat, "busy")

    await house.reached()
    house.runtime.gates.open("gate")
    await house.idle(chat)
